#pragma once

#include <stdexcept>

namespace anymps::metal {

// A command line that asks for what cannot be; the text says what and why.
struct RequestError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace anymps::metal
