#include "backend/observe/check_copies.h"

#include <c10/core/StorageImpl.h>

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>

#include "backend/observe/check.h"
#include "backend/observe/check_races.h"
#include "backend/observe/check_watch.h"
#include "backend/observe/host_digest.h"

namespace anymps::backend::observe {
namespace {

// Below this a copy costs its call and not its bytes.
constexpr std::size_t kSmallestCopy = 4096;
// Calls between a conversion and the transfer of its result, the ones that these are made of included.
constexpr std::uint64_t kJustBefore = 12;

thread_local int unchecked = 0;

struct Narrowing {
  std::int64_t elements = 0;
  std::uint64_t at_call = 0;
};
thread_local Narrowing last_narrowing;

// Memory of the host that was copied to the device or from it. Its storage is watched, so that other data at the same
// address are not taken for it.
struct Copied {
  c10::weak_intrusive_ptr<c10::StorageImpl> storage;
  const void* data;
  std::size_t bytes;
  std::uint64_t digest;
  bool from_device;
};

class LatestCopies {
 public:
  // Whether this memory was copied before, and whether it came from the device; it is remembered if not.
  std::optional<bool> find_or_add(const at::Tensor& host, bool from_device) {
    const void* const data = host.const_data_ptr();
    const std::size_t bytes = host.nbytes();
    const std::uint64_t now = host_digest(data, bytes);
    const std::lock_guard lock(mutex_);
    for (std::optional<Copied>& seen : seen_) {
      if (!seen || seen->data != data || seen->bytes != bytes) continue;
      if (!from_device && seen->digest == now && !seen->storage.expired()) return seen->from_device;
      seen.reset();
    }
    seen_[next_++ % seen_.size()].emplace(Copied{host.storage().getWeakStorageImpl(), data, bytes, now, from_device});
    return std::nullopt;
  }

 private:
  std::mutex mutex_;
  std::array<std::optional<Copied>, 256> seen_;
  std::size_t next_ = 0;
};

LatestCopies& latest() {
  static auto* const only = new LatestCopies;
  return *only;
}

bool is_wide(c10::ScalarType dtype) { return dtype == c10::kDouble || dtype == c10::kComplexDouble; }

bool is_plain_copy(const at::Tensor& tensor) {
  return tensor.layout() == c10::kStrided && tensor.has_storage() && tensor.is_contiguous() &&
         tensor.nbytes() >= kSmallestCopy;
}

void check_to_device(const at::Tensor& target, const at::Tensor& source, bool non_blocking) {
  const bool narrowed = last_narrowing.elements == source.numel() && source.numel() > 1 &&
                        calls_so_far() - last_narrowing.at_call <= kJustBefore;
  if (is_wide(source.scalar_type()) && source.numel() > 1) {
    note_finding("float64-converted", c10::toString(source.scalar_type()), source.nbytes());
  } else if (narrowed && (source.scalar_type() == c10::kFloat || source.scalar_type() == c10::kComplexFloat)) {
    note_finding("float64-converted", c10::toString(source.scalar_type()), 2 * source.nbytes());
  }
  last_narrowing = {};
  if (non_blocking) {
    begin_copy_from_host(source, target);
  } else {
    end_host_copies();
  }
  if (!is_plain_copy(source)) return;
  if (const auto from_device = latest().find_or_add(source, /*from_device=*/false)) {
    note_finding(*from_device ? "round-trip-copy" : "repeated-copy", {}, source.nbytes());
  }
}

void check_to_host(const at::Tensor& target, const at::Tensor& source, bool non_blocking) {
  if (non_blocking) begin_copy_to_host(target, source);
  if (is_plain_copy(target)) latest().find_or_add(target, /*from_device=*/true);
}

}  // namespace

void check_copy(const at::Tensor& target, const at::Tensor& source, bool non_blocking) {
  if (unchecked != 0) return;
  if (target.is_mps() && source.is_cpu()) check_to_device(target, source, non_blocking);
  if (target.is_cpu() && source.is_mps()) check_to_host(target, source, non_blocking);
}

void note_narrowing(std::int64_t elements) { last_narrowing = {elements, calls_so_far()}; }

void begin_unchecked_copies() noexcept { ++unchecked; }
void end_unchecked_copies() noexcept { --unchecked; }

}  // namespace anymps::backend::observe
