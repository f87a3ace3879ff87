// How much memory this machine, or the control group that it gives us, has left.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>

namespace anymps::gpu::support {

std::size_t physical_memory();

// What can be taken now without bringing the out-of-memory killer in: the smaller of the system's free memory and the
// control group's headroom, less a margin for others. Where nothing can be read, all of the physical memory.
std::size_t available_memory();

// The same from files under `root`, as the system has them under "/". For tests.
std::size_t available_memory(const std::filesystem::path& root);

// The tightest limit of our control group and those around it, where it is below the physical memory.
std::optional<std::size_t> memory_limit();
std::optional<std::size_t> memory_limit(const std::filesystem::path& root);

}  // namespace anymps::gpu::support
