// What the device refuses, in PyTorch's own words: programs match on them.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>
#include <c10/util/ArrayRef.h>

#include <cstdint>

namespace anymps::backend::dispatch {

// RuntimeError where PyTorch would find no device: below the macOS that it asks for, or a Mac that is none.
void refuse_missing_device();

// TypeError for float64 and complex128.
void refuse_float64(c10::ScalarType dtype);

// RuntimeError for a tensor of another device among the arguments.
[[noreturn]] void refuse_other_device(c10::Device other);

// RuntimeError for more dimensions than Metal kernels index.
void refuse_many_dimensions(c10::IntArrayRef sizes);

}  // namespace anymps::backend::dispatch
