#include "backend/dispatch/known_results.h"

#include <optional>
#include <utility>

namespace anymps::backend::dispatch {
namespace {

std::optional<ResultKind> kind_of(const at::Tensor& result, c10::ArrayRef<at::Tensor> arguments) {
  if (!result.defined()) return ResultKind{.argument = ResultKind::kUndefined};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].is_same(result)) return ResultKind{.argument = static_cast<int>(i)};
  }
  if (!result.is_mps() || result.layout() != at::kStrided || result.storage_offset() != 0) return std::nullopt;
  if (result.is_conj() || result.is_neg() || result.storage().use_count() != 1) return std::nullopt;
  ResultKind kind{.dtype = result.scalar_type(), .bytes = result.storage().nbytes()};
  kind.sizes.assign(result.sizes().begin(), result.sizes().end());
  kind.strides.assign(result.strides().begin(), result.strides().end());
  return kind;
}

}  // namespace

const KnownCall* KnownResults::find(std::string_view key) const {
  const std::lock_guard lock(mutex_);
  const auto found = results_.find(key);
  return found != results_.end() ? found->second.get() : nullptr;
}

const KnownCall* KnownResults::learn(std::string_view key, c10::ArrayRef<at::Tensor> arguments,
                                     c10::ArrayRef<at::Tensor> results) {
  ResultKinds kinds;
  for (const at::Tensor& result : results) {
    std::optional<ResultKind> kind = kind_of(result, arguments);
    if (!kind) return nullptr;
    kinds.push_back(std::move(*kind));
  }
  const std::lock_guard lock(mutex_);
  if (results_.size() >= kMost) return nullptr;
  return results_.try_emplace(std::string(key), std::make_unique<KnownCall>(std::move(kinds))).first->second.get();
}

}  // namespace anymps::backend::dispatch
