// What a verb of the command line puts into the command tree.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace anymps::cli::options {

// What the verb that was given does with COMMAND; the status it returns is that of the program.
using Action = std::function<int(const std::vector<std::string>& command)>;

constexpr int kUsageError = 2;

}  // namespace anymps::cli::options
