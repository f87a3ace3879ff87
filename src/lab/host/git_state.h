// Which version of the code a run used, where it lies in a Git repository.
#pragma once

#include <string>
#include <string_view>

namespace anymps::lab::host {

struct GitState {
  std::string commit;  // empty: no repository, no commit yet, or no git
  bool dirty = false;  // files that git tracks were changed since
};

// Of the folder in which this process works.
GitState git_state_here();

// From `git status --porcelain=v2 --branch`.
GitState git_state_in(std::string_view status);

}  // namespace anymps::lab::host
