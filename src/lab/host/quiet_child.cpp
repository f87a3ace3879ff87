#include "lab/host/quiet_child.h"

#include "lab/host/child.h"

namespace anymps::lab::host {

std::optional<std::string> quiet_output(const std::vector<std::string>& words) {
  // The shell is there to take standard error away.
  ChildCommand command{{"sh", "-c", "exec \"$@\" 2>/dev/null </dev/null", "sh"}, {}};
  command.words.insert(command.words.end(), words.begin(), words.end());
  ChildResult result = run_child(command, ChildOutput::kCapture);
  // The signal was meant for the whole command, and the child took it.
  if (result.interrupted) throw Interrupted();
  if (result.status() != 0) return std::nullopt;
  return std::move(result.output);
}

}  // namespace anymps::lab::host
