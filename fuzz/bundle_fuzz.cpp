// libFuzzer on the reader of bundles: it reads or refuses, and what it takes is as its manifest says. The tar is given
// without compression, which the reader takes as well, so that the fuzzer's changes reach it.
#include <cstddef>
#include <cstdint>
#include <span>

#include "lab/runbook/handoff/bundle_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace anymps::lab::runbook::handoff;
  try {
    const Bundle bundle = read_bundle(std::as_bytes(std::span(data, size)), {100, 1 << 20, 1 << 16});
    for (const BundleFile& file : bundle.manifest.files) {
      if (path_fault(file.path) || file.bytes > 1 << 20) __builtin_trap();
    }
  } catch (const BundleError&) {
    return 0;
  }
  return 0;
}
