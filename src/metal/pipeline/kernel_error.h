// The error of a kernel that cannot be compiled, launched or finished.
#pragma once

#include <stdexcept>

namespace anymps::metal::pipeline {

// Why a kernel cannot be run here. The text begins with its name.
struct KernelError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace anymps::metal::pipeline
