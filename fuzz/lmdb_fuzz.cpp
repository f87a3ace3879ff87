// libFuzzer on databases of pairs: what `anymps sr info`, `verify` and `train` read. LMDB itself trusts what is in the
// file, so that nothing may reach it that is not in order.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "fuzz/scratch_file.h"
#include "superres/files/store.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace anymps;
  static const fuzz::ScratchFile file("pairs.lmdb");
  constexpr std::uint64_t kMost = 64;
  file.write(data, size);
  try {
    const superres::files::Store store = superres::files::Store::open(file.path());
    store.source("000.png");
    store.sources();
    const std::uint64_t count = std::min(store.size(), kMost);
    for (std::uint64_t i = 0; i < count; ++i) {
      try {
        store.at(i);
      } catch (const superres::files::StoreError&) {
        continue;
      }
    }
  } catch (const superres::files::StoreError&) {
    return 0;
  }
  return 0;
}
