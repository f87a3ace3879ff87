// Copies between host and device, checked: data that goes over again, or back unchanged; float64 on the way; a copy
// that nobody waits for.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace anymps::backend::observe {

// After `target.copy_(source)`, one of them on the device and the other not.
void check_copy(const at::Tensor& target, const at::Tensor& source, bool non_blocking);

// The CPU makes float32 or complex64 of a wider tensor of so many elements: what is transferred next may be that.
void note_narrowing(std::int64_t elements);

// Between them this thread's copies are not checked: a program restores what it had saved.
void begin_unchecked_copies() noexcept;
void end_unchecked_copies() noexcept;

}  // namespace anymps::backend::observe
