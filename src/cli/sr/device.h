// The device that a verb is to run on.
#pragma once

#include <c10/core/Device.h>

#include <string>

namespace anymps::cli::sr {

// "cpu", "mps", "cuda". The mps device of anymps is loaded where this PyTorch has none of its own. Throws
// std::invalid_argument with one line where there is no such device here.
c10::Device device_named(const std::string& name);

}  // namespace anymps::cli::sr
