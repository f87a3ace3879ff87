// A half by the name that this compiler has for it: GCC 12 knows `_Float16` in C++ on x86 alone.
#pragma once

namespace anymps::gpu::support {

#if defined(__aarch64__)
using float16 = __fp16;
#else
using float16 = _Float16;
#endif

}  // namespace anymps::gpu::support
