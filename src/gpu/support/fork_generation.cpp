#include "gpu/support/fork_generation.h"

#include <pthread.h>

namespace anymps::gpu::support {
namespace {

std::atomic<std::uint32_t> generation{0};

void count_fork() noexcept { generation.fetch_add(1, std::memory_order_relaxed); }

[[maybe_unused]] const int kHandler = ::pthread_atfork(nullptr, nullptr, &count_fork);

}  // namespace

std::uint32_t fork_generation() noexcept { return generation.load(std::memory_order_relaxed); }

}  // namespace anymps::gpu::support
