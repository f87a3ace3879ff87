#pragma once

#include <stdexcept>
#include <string>

namespace anymps::metal::tool {

// A command line that asks for what cannot be; the text says what and why.
struct RequestError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

[[noreturn]] inline void refuse_file(const std::string& file, const std::string& why) {
  throw RequestError(file + ": " + why);
}

}  // namespace anymps::metal::tool
