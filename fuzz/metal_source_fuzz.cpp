// libFuzzer on the compiler of Metal source: it compiles or refuses. Clang itself is not instrumented; what leads it
// astray still crashes it.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "metal/frontend/extract_kernel.h"
#include "metal/frontend/source.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace frontend = anymps::metal::frontend;
  constexpr std::size_t kMostKernels = 4;
  try {
    const frontend::CompiledSource compiled =
        frontend::compile_source(std::string_view(reinterpret_cast<const char*>(data), size), {});
    for (std::size_t i = 0; i < compiled.kernels.size() && i < kMostKernels; ++i) {
      if (frontend::extract_kernel(compiled.module, compiled.kernels[i]).empty()) __builtin_trap();
    }
  } catch (const frontend::CompileError& error) {
    // A refusal says why.
    if (std::string_view(error.what()).find("error: ") == std::string_view::npos) __builtin_trap();
  }
  return 0;
}
