// LLVM calls arc4random for the names of temporary files. Debian's archives take it from glibc, which has it from 2.36
// on; with this one, the library needs no glibc as new as that.
#include <sys/random.h>

#include <cstdint>

extern "C" std::uint32_t arc4random() noexcept {
  std::uint32_t number = 0;
  // Of less than 256 bytes a call brings all or fails, and what names a file may repeat itself.
  if (getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) return 0;
  return number;
}
