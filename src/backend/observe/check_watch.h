// Every operator call of a checked program, as PyTorch tells of it: below which lines of the user's the device works,
// and below which it is waited for.
#pragma once

#include <ATen/record_function.h>

#include <cstdint>

namespace anymps::backend::observe {

// Begins it, for the rest of the process.
void watch_calls();

// The lines that wait, with those that called them.
void note_waiting_lines();

// How many operators this thread has called.
std::uint64_t calls_so_far() noexcept;

// Whether any of the call's arguments is, or has, a tensor of the device.
bool has_device_tensor(const at::RecordFunction& function);

}  // namespace anymps::backend::observe
