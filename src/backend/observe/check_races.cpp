#include "backend/observe/check_races.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/StorageImpl.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend/observe/check.h"
#include "backend/observe/host_digest.h"
#include "backend/runtime/argument_tensors.h"
#include "backend/runtime/call_site.h"

namespace anymps::backend::observe {
namespace {

constexpr std::string_view kToHost = "non-blocking-to-host";
constexpr std::string_view kToDevice = "non-blocking-to-device";
// A program that never waits; what was copied long ago has arrived.
constexpr std::size_t kMostPending = 256;

struct Pending {
  c10::Storage storage;  // which a copy that does not wait holds on a Mac, too
  const std::byte* begin;
  std::size_t bytes;
  bool to_host;
  std::uint64_t digest;  // of what is copied from the host
  std::string site;      // of the copy
};

void note(const Pending& copy, const std::string& what) {
  note_finding_at(copy.site, copy.to_host ? kToHost : kToDevice, what, copy.bytes);
}

std::string at_line(std::string_view what) {
  const std::string site = runtime::call_site();
  return std::string(what) + (site.empty() ? "" : " at " + site);
}

// What an operator does with the memory of its arguments.
struct Use {
  bool reads = true;
  std::vector<bool> writes;  // by argument
};

// Operators that look at a tensor's shape and type alone.
bool makes_alike(std::string_view name) {
  return name.ends_with("_like") || name.starts_with("aten::new_") || name == "aten::set_" ||
         name == "aten::record_stream";
}

bool asks_for_shape(std::string_view name) {
  constexpr std::string_view kShape[] = {
      "aten::size",         "aten::sym_size",       "aten::stride",     "aten::sym_stride",
      "aten::numel",        "aten::sym_numel",      "aten::dim",        "aten::is_pinned",
      "aten::is_same_size", "aten::storage_offset", "aten::is_complex", "aten::is_floating_point",
      "aten::is_nested",    "aten::is_signed"};
  return std::ranges::find(kShape, name) != std::end(kShape);
}

Use use_of(const c10::FunctionSchema& schema) {
  Use use;
  bool writes_any = false;
  for (const c10::Argument& argument : schema.arguments()) {
    const c10::AliasInfo* alias = argument.alias_info();
    use.writes.push_back(alias != nullptr && alias->isWrite());
    writes_any |= use.writes.back();
  }
  // A view, or what may be one: its operators that copy are seen by themselves.
  const bool is_view = !writes_any && std::ranges::any_of(schema.returns(), [](const c10::Argument& result) {
    return result.alias_info() != nullptr;
  });
  use.reads = !is_view && !makes_alike(schema.name()) && !asks_for_shape(schema.name());
  return use;
}

const Use* use_of(const at::RecordFunction& function) {
  static thread_local std::unordered_map<c10::OperatorName, Use> known;
  const auto name = function.operator_name();
  if (!name) return nullptr;
  const auto found = known.find(*name);
  if (found != known.end()) return &found->second;
  const auto op = c10::Dispatcher::singleton().findSchema(*name);
  return op ? &known.emplace(*name, use_of(op->schema())).first->second : nullptr;
}

class HostCopies {
 public:
  bool any() const { return count_.load(std::memory_order_relaxed) != 0; }

  void add(const at::Tensor& host, bool to_host) {
    const auto* begin = static_cast<const std::byte*>(host.const_data_ptr());
    const std::size_t bytes = host.nbytes();
    Pending copy{.storage = host.storage(),
                 .begin = begin,
                 .bytes = bytes,
                 .to_host = to_host,
                 .digest = to_host ? 0 : host_digest(begin, bytes),
                 .site = runtime::call_site()};
    const std::lock_guard lock(mutex_);
    if (pending_.size() == kMostPending) pending_.erase(pending_.begin());
    pending_.push_back(std::move(copy));
    count_.store(pending_.size(), std::memory_order_relaxed);
  }

  void touch(const at::Tensor& host, bool writes, bool reads) {
    if (!host.defined() || !host.is_cpu() || !host.has_storage() || host.numel() == 0) return;
    const c10::StorageImpl* storage = host.storage().unsafeGetStorageImpl();
    std::vector<Pending> raced;
    {
      const std::lock_guard lock(mutex_);
      std::erase_if(pending_, [&](Pending& copy) {
        if (copy.storage.unsafeGetStorageImpl() != storage || !overlaps(copy, host) ||
            !(writes || (reads && copy.to_host)))
          return false;
        raced.push_back(std::move(copy));
        return true;
      });
      count_.store(pending_.size(), std::memory_order_relaxed);
    }
    for (const Pending& copy : raced) note(copy, at_line(writes ? "changed" : "read"));
  }

  void end() {
    std::vector<Pending> ended;
    {
      const std::lock_guard lock(mutex_);
      ended.swap(pending_);
      count_.store(0, std::memory_order_relaxed);
    }
    for (const Pending& copy : ended) {
      if (copy.to_host || host_digest(copy.begin, copy.bytes) == copy.digest) continue;
      note(copy, "changed before the device was waited for");
    }
  }

 private:
  static bool overlaps(const Pending& copy, const at::Tensor& host) {
    const auto* begin = static_cast<const std::byte*>(host.const_data_ptr());
    std::size_t span = host.element_size();
    for (std::int64_t dim = 0; dim < host.dim(); ++dim) {
      span += static_cast<std::size_t>((host.size(dim) - 1) * host.stride(dim)) * host.element_size();
    }
    return begin < copy.begin + copy.bytes && copy.begin < begin + span;
  }

  std::mutex mutex_;
  std::vector<Pending> pending_;
  std::atomic<std::size_t> count_{0};
};

HostCopies& copies() {
  static auto* const only = new HostCopies;  // other threads may outlive the end of main
  return *only;
}

bool can_be_watched(const at::Tensor& host) {
  return host.layout() == c10::kStrided && host.has_storage() && host.numel() != 0;
}

}  // namespace

void begin_copy_to_host(const at::Tensor& host, const at::Tensor& device) {
  if (!can_be_watched(host)) return;
  if (host.strides() == device.strides()) {
    copies().add(host, /*to_host=*/true);
  } else {
    // PyTorch copies to a tensor of its own first, and from there without waiting (Copy.mm, copy_from_mps_).
    note_finding(kToHost, "its strides are not the device tensor's: PyTorch itself reads the copy too early",
                 host.nbytes());
  }
}

void begin_copy_from_host(const at::Tensor& host, const at::Tensor& device) {
  // What is converted or laid out anew is read at once, or waited for.
  if (!can_be_watched(host) || host.scalar_type() != device.scalar_type() || host.strides() != device.strides() ||
      !host.is_non_overlapping_and_dense()) {
    return;
  }
  copies().add(host, /*to_host=*/false);
}

void end_host_copies() {
  if (copies().any()) copies().end();
}

void check_races(const at::RecordFunction& function) {
  if (!copies().any()) return;
  const Use* use = use_of(function);
  if (use == nullptr) return;
  const auto inputs = function.inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool writes = i < use->writes.size() && use->writes[i];
    if (!writes && !use->reads) continue;
    runtime::for_each_tensor(inputs.slice(i, 1),
                             [&](const at::Tensor& tensor) { copies().touch(tensor, writes, use->reads); });
  }
}

void note_host_read(const at::Tensor& host) {
  if (copies().any()) copies().touch(host, /*writes=*/false, /*reads=*/true);
}

}  // namespace anymps::backend::observe
