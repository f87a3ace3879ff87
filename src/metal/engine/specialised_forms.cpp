#include "metal/engine/specialised_forms.h"

#include <algorithm>
#include <cstring>

#include "metal/lower/transform/propagate_arguments.h"

namespace anymps::metal::engine {
namespace {

constexpr std::size_t kMostForms = 8;

bool is_by_value(const pipeline::Launch& launch, unsigned binding) { return (launch.by_value >> binding & 1) != 0; }

}  // namespace

lower::transform::ArgumentValues argument_values(const air::Signature& signature, const pipeline::Launch& launch) {
  lower::transform::ArgumentValues known;
  std::size_t total = 0;
  for (const air::Argument& argument : signature.arguments) {
    if (argument.kind != air::ArgumentKind::kBuffer || argument.access != air::Access::kRead ||
        argument.address_space != air::kConstantSpace || argument.unused || !is_by_value(launch, argument.binding)) {
      continue;
    }
    const std::size_t size = launch.buffer_bytes[argument.binding];
    if (size == 0 || total + size > kMostArgumentBytes) continue;
    total += size;
    const auto* bytes = static_cast<const std::byte*>(launch.buffers[argument.binding]);
    known[argument.binding] = {bytes, bytes + size};
  }
  return known;
}

bool SpecialisedForms::Form::is_for(const pipeline::Launch& launch, lower::vectorize::Simdgroups kind) const {
  if (simdgroups != kind) return false;
  return std::ranges::all_of(known, [&](const auto& entry) {
    const auto& [binding, bytes] = entry;
    return is_by_value(launch, binding) && launch.buffer_bytes[binding] == bytes.size() &&
           std::memcmp(launch.buffers[binding], bytes.data(), bytes.size()) == 0;
  });
}

std::shared_ptr<SpecialisedForms::Form> SpecialisedForms::find(const air::Signature& signature,
                                                               const pipeline::Launch& launch,
                                                               lower::vectorize::Simdgroups simdgroups) {
  if (launch.by_value == 0) return nullptr;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return nullptr;
  auto found = std::ranges::find_if(forms_, [&](const auto& form) { return form->is_for(launch, simdgroups); });
  if (found == forms_.end()) {
    auto form = std::make_shared<Form>();
    form->simdgroups = simdgroups;
    form->known = argument_values(signature, launch);
    if (form->known.empty()) return nullptr;
    if (forms_.size() == kMostForms) forms_.pop_back();
    found = forms_.insert(forms_.end(), std::move(form));
  }
  std::rotate(forms_.begin(), found, found + 1);
  return forms_.front();
}

}  // namespace anymps::metal::engine
