#include "gpu/history/operator_history.h"

#include <algorithm>
#include <iterator>

namespace anymps::gpu::history {
namespace {

constexpr TorchRelease kReleases[] = {
#include "torch_releases.inc"
};

constexpr OperatorHistory kOperatorHistories[] = {
#include "operator_routes.inc"
};

constexpr CompositePart kCompositeParts[] = {
#include "composite_parts.inc"
};

std::string_view without_overload(std::string_view name) { return name.substr(0, name.find('.')); }

// "2.8" names every 2.8.x, and "2" none.
bool is_named(const TorchRelease& release, std::string_view version) {
  if (release.version == version) return true;
  return version.find('.') != version.npos && release.version.starts_with(version) &&
         release.version[version.size()] == '.';
}

}  // namespace

std::span<const TorchRelease> torch_releases() { return kReleases; }

std::optional<std::size_t> torch_release(std::string_view version) {
  for (std::size_t i = std::size(kReleases); i-- > 0;) {
    if (is_named(kReleases[i], version)) return i;
  }
  return std::nullopt;
}

std::optional<std::size_t> torch_release_before(std::string_view version) {
  const auto* const first = std::ranges::find_if(kReleases, [&](const auto& one) { return is_named(one, version); });
  if (first == std::end(kReleases) || first == std::begin(kReleases)) return std::nullopt;
  return static_cast<std::size_t>(first - std::begin(kReleases)) - 1;
}

std::optional<std::size_t> installed_release(std::string_view version) {
  const std::string_view number = version.substr(0, version.find('+'));
  const auto release = torch_release(number);
  return release ? release : torch_release(number.substr(0, number.rfind('.')));
}

std::span<const OperatorHistory> operator_histories() { return kOperatorHistories; }

const OperatorHistory* operator_history(std::string_view name) {
  const auto* const found = std::ranges::lower_bound(kOperatorHistories, name, {}, &OperatorHistory::name);
  return found != std::end(kOperatorHistories) && found->name == name ? found : nullptr;
}

std::vector<CompositePart> lacking_parts_of(std::string_view name) {
  std::vector<CompositePart> found;
  std::ranges::copy_if(kCompositeParts, std::back_inserter(found),
                       [&](const CompositePart& part) { return part.composite == without_overload(name); });
  return found;
}

OperatorRoute route_with_parts(const OperatorHistory& history, std::size_t release) {
  const OperatorRoute own = history.in(release);
  if (own != OperatorRoute::kComposite) return own;
  const auto is_refused = [&](const CompositePart& part) {
    const OperatorHistory* of_part = operator_history(part.part);
    return part.in_all_calls && of_part != nullptr && of_part->in(release) == OperatorRoute::kRefused;
  };
  return std::ranges::any_of(lacking_parts_of(history.name), is_refused) ? OperatorRoute::kRefused : own;
}

std::vector<OperatorHistory> overloads_of(std::string_view name) {
  std::vector<OperatorHistory> found;
  for (const OperatorHistory& one : kOperatorHistories) {
    if (one.name == name || (name.find('.') == name.npos && without_overload(one.name) == name)) found.push_back(one);
  }
  return found;
}

}  // namespace anymps::gpu::history
