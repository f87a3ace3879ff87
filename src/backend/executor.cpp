// PyTorch's threads as the executor, so that shaders and PyTorch's own kernels share them and torch.set_num_threads
// holds for both. This file is compiled for OpenMP: without it at::parallel_for is a plain loop, whatever PyTorch was
// built for.
#include "gpu/executor.h"

#include <ATen/Parallel.h>

#include <cstdint>

#include "backend/registration.h"

#if !defined(_OPENMP) && !defined(__clang_analyzer__)  // clang-tidy goes without omp.h
#error "at::parallel_for would run on one thread"
#endif

// The OpenMP library is the one that PyTorch's own libraries bring, under a name that differs between its builds: weak,
// these need none to be linked, and find that one. A second copy would have threads of its own.
asm(".weak GOMP_parallel\n.weak omp_get_num_threads\n.weak omp_get_thread_num");

namespace anymps::backend {
namespace {

class TorchThreads final : public gpu::Executor {
 public:
  void parallel_for(std::size_t count, std::size_t grain, const Body& body) override {
    at::parallel_for(0, static_cast<std::int64_t>(count), static_cast<std::int64_t>(grain),
                     [&](std::int64_t begin, std::int64_t end) {
                       body(static_cast<std::size_t>(begin), static_cast<std::size_t>(end));
                     });
  }
  unsigned threads() const override { return static_cast<unsigned>(at::get_num_threads()); }
};

}  // namespace

void register_executor() {
  static TorchThreads threads;
  gpu::set_executor(&threads);
}

}  // namespace anymps::backend
