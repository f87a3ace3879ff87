#include "metal/engine/known_forms.h"

#include <algorithm>
#include <cstring>

namespace anymps::metal::engine {
namespace {

constexpr std::size_t kMostForms = 8;

bool is_by_value(const Launch& launch, unsigned binding) { return (launch.by_value >> binding & 1) != 0; }

}  // namespace

lower::KnownBytes known_bytes(const Signature& signature, const Launch& launch) {
  lower::KnownBytes known;
  std::size_t total = 0;
  for (const Argument& argument : signature.arguments) {
    if (argument.kind != ArgumentKind::kBuffer || argument.access != Access::kRead ||
        argument.address_space != kConstantSpace || argument.unused || !is_by_value(launch, argument.binding)) {
      continue;
    }
    const std::size_t size = launch.buffer_bytes[argument.binding];
    if (size == 0 || total + size > kMostKnown) continue;
    total += size;
    const auto* bytes = static_cast<const std::byte*>(launch.buffers[argument.binding]);
    known[argument.binding] = {bytes, bytes + size};
  }
  return known;
}

bool KnownForms::Form::is_for(const Launch& launch, lower::Simdgroups kind) const {
  if (simdgroups != kind) return false;
  return std::ranges::all_of(known, [&](const auto& entry) {
    const auto& [binding, bytes] = entry;
    return is_by_value(launch, binding) && launch.buffer_bytes[binding] == bytes.size() &&
           std::memcmp(launch.buffers[binding], bytes.data(), bytes.size()) == 0;
  });
}

std::shared_ptr<KnownForms::Form> KnownForms::find(const Signature& signature, const Launch& launch,
                                                   lower::Simdgroups simdgroups) {
  if (launch.by_value == 0) return nullptr;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return nullptr;
  auto found = std::ranges::find_if(forms_, [&](const auto& form) { return form->is_for(launch, simdgroups); });
  if (found == forms_.end()) {
    auto form = std::make_shared<Form>();
    form->simdgroups = simdgroups;
    form->known = known_bytes(signature, launch);
    if (form->known.empty()) return nullptr;
    if (forms_.size() == kMostForms) forms_.pop_back();
    found = forms_.insert(forms_.end(), std::move(form));
  }
  std::rotate(forms_.begin(), found, found + 1);
  return forms_.front();
}

}  // namespace anymps::metal::engine
