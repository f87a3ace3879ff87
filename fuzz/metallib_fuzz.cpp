// libFuzzer on the reader of .metallib containers: it reads or refuses, and what it hands out lies within the file.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "metal/library/metallib.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* begin = reinterpret_cast<const std::byte*>(data);
  try {
    const auto library = anymps::metal::library::Metallib::from_bytes(std::vector<std::byte>(begin, begin + size));
    for (const anymps::metal::library::FunctionEntry& function : library.functions()) {
      if (library.find(function.name) != &function) __builtin_trap();
      // Volatile, so that AddressSanitizer sees the reads.
      for (const std::byte byte : function.bitcode) [[maybe_unused]]
        const volatile std::byte seen = byte;
    }
  } catch (const anymps::metal::library::MetallibError&) {
    return 0;
  }
  return 0;
}
