#include "lab/coverage/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "gpu/support/edit_distance.h"
#include "lab/base/text_wrap.h"

namespace anymps::lab::coverage {
namespace {

using gpu::history::OperatorRoute;

constexpr std::size_t kLeastSentence = 30;

struct RouteText {
  OperatorRoute route;
  std::string_view name;
  std::string_view words;
};
constexpr RouteText kRoutes[] = {
    {OperatorRoute::kKernel, "kernel", "a kernel of its own"},
    {OperatorRoute::kComposite, "composite", "made of other operators"},
    {OperatorRoute::kFallback, "fallback", "on the CPU, without being asked"},
    {OperatorRoute::kRefused, "refused", "refused"},
    {OperatorRoute::kUnknown, "none", "not there"},
};

const RouteText& route_text(OperatorRoute route) { return *std::ranges::find(kRoutes, route, &RouteText::route); }

// "torch.linalg.svd" is "linalg_svd" among operators, "nn.functional.gelu" is "gelu".
std::string as_operator(std::string_view written) {
  std::string name(written);
  for (const std::string_view prefix :
       {"aten::", "torch.", "ops.", "aten.", "Tensor.", "nn.functional.", "F.", "special.", "_C.", "_nn."}) {
    if (!name.starts_with(prefix)) continue;
    name.erase(0, prefix.size());
    if (prefix == "special.") name.insert(0, "special_");
  }
  for (const std::string_view module : {"linalg.", "fft."}) {
    if (name.starts_with(module)) name[module.size() - 1] = '_';
  }
  return name;
}

}  // namespace

std::string_view route_name(OperatorRoute route) { return route_text(route).name; }

std::string known_releases() {
  std::string text;
  for (const gpu::history::TorchRelease& release : gpu::history::torch_releases()) {
    if (!text.empty()) text += ", ";
    text += release.version;
  }
  return text;
}

std::vector<gpu::history::OperatorHistory> find_operators(std::string_view written) {
  return gpu::history::overloads_of(as_operator(written));
}

std::string nearest_operator(std::string_view written) {
  const std::string name = as_operator(written);
  const auto distance = [&](const gpu::history::OperatorHistory& one) {
    return gpu::support::edits_between(name, std::string(one.name.substr(0, one.name.find('.'))));
  };
  const auto nearest = std::ranges::min_element(gpu::history::operator_histories(), {}, distance);
  return std::string(nearest->name.substr(0, nearest->name.find('.')));
}

namespace {

// Of a composite, the parts that were missing while it was one: "; it calls _linalg_eigvals: refused in all of ..."
std::string parts_told(const gpu::history::OperatorHistory& history) {
  std::string text;
  for (const gpu::history::CompositePart& part : gpu::history::lacking_parts_of(history.name)) {
    const gpu::history::OperatorHistory* own = gpu::history::operator_history(part.part);
    bool missing = false;
    for (std::size_t i = 0; own != nullptr && i < gpu::history::torch_releases().size(); ++i) {
      missing |= history.in(i) == OperatorRoute::kComposite && !gpu::history::runs_on_mps(own->in(i));
    }
    if (missing)
      text += fmt::format("; {} {}: {}", part.in_all_calls ? "it calls" : "some calls use", part.part, told(*own));
  }
  return text;
}

}  // namespace

std::string told(const gpu::history::OperatorHistory& history) {
  const auto releases = gpu::history::torch_releases();
  std::string text;
  for (std::size_t first = 0; first < releases.size();) {
    std::size_t next = first + 1;
    while (next < releases.size() && history.in(next) == history.in(first)) ++next;
    if (!text.empty()) text += "; ";
    text += route_text(history.in(first)).words;
    const bool to_the_end = next == releases.size();
    if (first == 0 && to_the_end) {
      text += fmt::format(" in all of {} to {}", releases.front().version, releases.back().version);
    } else if (to_the_end) {
      text += fmt::format(" since {}", releases[first].version);
    } else if (next == first + 1) {
      text += fmt::format(" in {}", releases[first].version);
    } else {
      text += fmt::format(" in {} to {}", releases[first].version, releases[next - 1].version);
    }
    first = next;
  }
  return text;
}

std::string coverage_screen(std::span<const gpu::history::OperatorHistory> operators, const base::Terminal& terminal) {
  std::size_t width = 0;
  for (const gpu::history::OperatorHistory& one : operators) width = std::max(width, one.name.size());
  // Beside long names a narrow terminal has no room for sentences: there they stand below.
  const bool below = terminal.room(width + 2) < kLeastSentence;
  const std::string indent(below ? 4 : width + 2, ' ');
  std::string text;
  for (const gpu::history::OperatorHistory& one : operators) {
    text +=
        below ? base::keep_ends(one.name, terminal.room()) + "\n" + indent : fmt::format("{:<{}}  ", one.name, width);
    text += base::fitted(told(one) + parts_told(one), indent, terminal);
  }
  return text;
}

nlohmann::json coverage_to_json(std::span<const gpu::history::OperatorHistory> operators) {
  const auto releases = gpu::history::torch_releases();
  nlohmann::json by_name = nlohmann::json::object();
  for (const gpu::history::OperatorHistory& one : operators) {
    nlohmann::json& routes = by_name[std::string(one.name)];
    for (std::size_t i = 0; i < releases.size(); ++i)
      routes[std::string(releases[i].version)] = route_name(gpu::history::route_with_parts(one, i));
  }
  nlohmann::json versions = nlohmann::json::array();
  for (const gpu::history::TorchRelease& release : releases) versions.push_back(release.version);
  return {{"version", 1}, {"releases", std::move(versions)}, {"operators", std::move(by_name)}};
}

}  // namespace anymps::lab::coverage
