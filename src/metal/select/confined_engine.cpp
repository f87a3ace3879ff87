#include "metal/select/confined_engine.h"

#include <cstdlib>

#include "gpu/executor.h"
#include "gpu/support/confine.h"
#include "metal/support/host_target.h"

namespace anymps::metal::select {

void confine_engine() {
  ::setenv("ANYMPS_CACHE_LIMIT", "0", /*overwrite=*/1);
  ::unsetenv("ANYMPS_SANDBOX");  // this is it
  // Of some processors LLVM and the C library read in files.
  static_cast<void>(support::host_name());
  static_cast<void>(gpu::executor().threads());
  gpu::support::confine();
}

}  // namespace anymps::metal::select
