// Apple's GPU takes denormal floats for zero unless a kernel says otherwise; a CPU does so while one of these lives.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace anymps::metal::runtime {

class FlushDenormals {
 public:
  explicit FlushDenormals(bool wanted) : before_(read()) {
    if (wanted) write(before_ | kFlush);
  }
  ~FlushDenormals() { write(before_); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr std::uint64_t kFlush = 0x8040;  // results, and operands
  static std::uint64_t read() { return _mm_getcsr(); }
  static void write(std::uint64_t state) { _mm_setcsr(static_cast<unsigned>(state)); }
#elif defined(__aarch64__)
  static constexpr std::uint64_t kFlush = std::uint64_t{1} << 24;
  static std::uint64_t read() {
    std::uint64_t state = 0;
    asm volatile("mrs %0, fpcr" : "=r"(state));
    return state;
  }
  static void write(std::uint64_t state) { asm volatile("msr fpcr, %0" : : "r"(state)); }
#else
#error "how does this processor flush denormals?"
#endif

  const std::uint64_t before_;
};

}  // namespace anymps::metal::runtime
