// LLVM and libarchive call these for the names of temporary files. Debian's archives take them from glibc, which has
// them from 2.36 on; with these, which nobody outside sees, a wheel needs no glibc as new as that.
#include <sys/random.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" {

__attribute__((visibility("hidden"))) void arc4random_buf(void* target, std::size_t size) noexcept {
  auto* at = static_cast<unsigned char*>(target);
  while (size > 0) {
    const ssize_t count = getrandom(at, size, 0);
    if (count < 0 && errno != EINTR) std::abort();  // as glibc's: there is no way to say that it failed
    if (count <= 0) continue;
    at += count;
    size -= static_cast<std::size_t>(count);
  }
}

__attribute__((visibility("hidden"))) std::uint32_t arc4random() noexcept {
  std::uint32_t number = 0;
  arc4random_buf(&number, sizeof number);
  return number;
}

}  // extern "C"
