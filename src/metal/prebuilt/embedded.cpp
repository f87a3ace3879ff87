// The precompiled standard library, as bytes of this library: whoever compiles a first kernel does not wait for it.
#include <cstddef>
#include <span>
#include <string>

#include "metal/frontend/precompiled.h"

// A file as bytes from NAME to NAME_end. Clang reads numbers in place, hence the alignment. The names are hidden rather
// than local: to reach those, linkers for AArch64 share one entry of a table.
// NOLINTBEGIN(bugprone-macro-parentheses,readability-identifier-naming): names of the assembler
#define ANYMPS_EMBED(name, file)                                                             \
  asm(".section .rodata\n.balign 64\n"                                                       \
      ".globl " #name "\n.hidden " #name                                                     \
      "\n"                                                                                   \
      ".globl " #name "_end\n.hidden " #name "_end\n" #name ": .incbin \"" file "\"\n" #name \
      "_end:\n"                                                                              \
      ".previous\n");                                                                        \
  extern "C" [[gnu::visibility("hidden")]] const char name[], name##_end[]

ANYMPS_EMBED(anymps_prebuilt_headers, ANYMPS_PREBUILT_HEADERS);
ANYMPS_EMBED(anymps_prebuilt_identity, ANYMPS_PREBUILT_IDENTITY);
// NOLINTEND(bugprone-macro-parentheses,readability-identifier-naming)

namespace anymps::metal::prebuilt {
namespace {

[[maybe_unused]] const bool kOffered = [] {
  frontend::set_built_in_headers(std::string(anymps_prebuilt_identity, anymps_prebuilt_identity_end),
                                 std::as_bytes(std::span(anymps_prebuilt_headers, anymps_prebuilt_headers_end)));
  return true;
}();

}  // namespace
}  // namespace anymps::metal::prebuilt
