// Every operator call of a checked program, as PyTorch tells of it: how much work the device has been given since the
// host last waited for it, and below which lines.
#pragma once

#include <cstdint>

namespace anymps::backend {

// Begins it, for the rest of the process.
void watch_calls();

// The device has worked for so long on what this thread gave it.
void note_device_time(std::uint64_t ns) noexcept;

// The host waits for the device: goes to the trace with what the device has done since the last wait, if anything.
void note_wait(const char* what);

// The host has waited for all that the device was given.
void note_idle() noexcept;

// Between them all waits of this thread count as one, under this name, or with none as nothing: printing a tensor reads
// it piece by piece, and what PyTorch waits for of its own nobody can change. They nest; the outermost counts.
void begin_one_wait(const char* name);
void end_one_wait();

// How many operators this thread has called.
std::uint64_t calls_so_far() noexcept;

}  // namespace anymps::backend
