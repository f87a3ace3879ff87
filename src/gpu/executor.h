// Who runs work in parallel. There is one at a time for the process: PyTorch's threads where the backend is loaded, a
// plain pool elsewhere. Whoever needs threads asks here, so that the machine is never given more of them than it has
// cores.
#pragma once

#include <cstddef>
#include <functional>

namespace anymps::gpu {

class Executor {
 public:
  using Body = std::function<void(std::size_t begin, std::size_t end)>;

  virtual ~Executor() = default;

  // Calls `body` with ranges that cover [0, count) once, from several threads at a time, the caller's among them, and
  // returns when all are done. `grain` is how much is worth a thread of its own: ranges are about that long or
  // longer. A call from inside a body may run inline. The first exception of a body reaches the caller once no body
  // runs any more; ranges that had not begun by then may be left out.
  virtual void parallel_for(std::size_t count, std::size_t grain, const Body& body) = 0;

  // How many threads a call may use, the caller's included.
  virtual unsigned threads() const = 0;
};

// The current one.
Executor& executor();

// Makes `chosen` the current one; it must outlive its use. nullptr: the plain pool again.
void set_executor(Executor* chosen);

}  // namespace anymps::gpu
