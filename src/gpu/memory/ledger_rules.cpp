#include "gpu/memory/ledger_rules.h"

#include <array>

#include "gpu/history/release_number.h"

namespace anymps::gpu::memory {

LedgerRules LedgerRules::of_release(std::string_view release) {
  const std::array<unsigned, 3> number = history::release_number(release);
  const auto since = [&](unsigned major, unsigned minor) { return number >= std::array{major, minor, 0U}; };
  return {.heaps = since(2, 14) ? HeapType::kPlacement : HeapType::kAutomatic, .tells_active_bytes = since(2, 15)};
}

}  // namespace anymps::gpu::memory
