#include "metal/engine/confined_engine.h"

#include <cstdlib>

#include "gpu/confine.h"
#include "gpu/executor.h"
#include "metal/engine/host_target.h"

namespace anymps::metal::engine {

void confine_engine() {
  ::setenv("ANYMPS_CACHE_LIMIT", "0", /*overwrite=*/1);
  ::unsetenv("ANYMPS_SANDBOX");  // this is it
  // Of some processors LLVM and the C library read in files.
  static_cast<void>(host_name());
  static_cast<void>(gpu::executor().threads());
  gpu::confine();
}

}  // namespace anymps::metal::engine
