#include "lab/host/git_state.h"

#include <algorithm>

#include "lab/host/quiet_child.h"

namespace anymps::lab::host {

GitState git_state_here() {
  // Files that git does not know are not looked for: in a folder of data that takes long.
  const auto status =
      quiet_output({"git", "--no-optional-locks", "status", "--porcelain=v2", "--branch", "--untracked-files=no"});
  return status ? git_state_in(*status) : GitState{};
}

GitState git_state_in(std::string_view status) {
  constexpr std::string_view kCommit = "# branch.oid ";
  GitState state;
  while (!status.empty()) {
    const std::string_view line = status.substr(0, std::min(status.find('\n'), status.size()));
    status.remove_prefix(std::min(line.size() + 1, status.size()));
    if (line.starts_with(kCommit)) {
      if (line.substr(kCommit.size()) != "(initial)") state.commit = line.substr(kCommit.size());
    } else if (!line.empty() && !line.starts_with('#')) {
      state.dirty = true;
    }
  }
  return state;
}

}  // namespace anymps::lab::host
