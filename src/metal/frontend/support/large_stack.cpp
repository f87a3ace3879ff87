#include "metal/frontend/support/large_stack.h"

// LLVM's header does not include what it uses.
// clang-format off
#include <utility>
#include <llvm/Support/thread.h>
// clang-format on

#include <exception>
#include <optional>

namespace anymps::metal::frontend::support {
namespace {

// Enough for kMostNested levels (limits.h) of everything. The system gives pages as they are touched.
constexpr unsigned kStackBytes = 512U << 20U;

}  // namespace

void on_large_stack(const std::function<void()>& work) {
  std::exception_ptr failure;
  llvm::thread worker(std::optional<unsigned>(kStackBytes), [&] {
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
  });
  worker.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace anymps::metal::frontend::support
