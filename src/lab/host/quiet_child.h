// A child that is asked for one thing, and whose complaints nobody needs to see.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace anymps::lab::host {

// What it writes to standard output; nothing where it cannot be started or fails.
std::optional<std::string> quiet_output(const std::vector<std::string>& words);

}  // namespace anymps::lab::host
