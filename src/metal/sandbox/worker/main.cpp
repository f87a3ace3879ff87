// The program of the sandbox: `anymps-sandbox LIBRARY`, started by box.cpp. It drops what it inherited before it opens
// libanymps_metal.so, which does the rest (worker.h).
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>

#include "metal/sandbox/worker/worker.h"

namespace {

// Standard streams, the socket and the memory. Others are files of the program that started this one.
constexpr int kFirstForeign = 5;

void close_foreign() {
#ifdef SYS_close_range
  if (::syscall(SYS_close_range, kFirstForeign, ~0U, 0) == 0) return;
#endif
  const long most = ::sysconf(_SC_OPEN_MAX);
  for (int descriptor = kFirstForeign; descriptor < most; ++descriptor) ::close(descriptor);
}

}  // namespace

int main(int argc, char** argv) {
  close_foreign();
  void* library = argc == 2 ? ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : nullptr;
  void* entry = library == nullptr ? nullptr : ::dlsym(library, kAnympsMetalSandbox);
  if (entry == nullptr) {
    const char* why = ::dlerror();
    std::fprintf(stderr, "%s\n", why != nullptr ? why : "it is started by libanymps_metal.so");
    return 1;
  }
  return reinterpret_cast<decltype(&anymps_metal_sandbox)>(entry)();
}
