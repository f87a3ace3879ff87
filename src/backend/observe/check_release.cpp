#include "backend/observe/check_release.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "backend/observe/check.h"
#include "backend/observe/check_watch.h"
#include "gpu/device.h"
#include "gpu/history/operator_history.h"

namespace anymps::backend::observe {
namespace {

using gpu::history::OperatorRoute;

struct Changed {
  std::string_view overload;
  const char* rule;
};

// Of the operators that the installed release has. Those that begin with an underscore no program calls itself: where
// they are gone, so is what PyTorch's functions made of them.
const char* rule_for(std::string_view name, OperatorRoute installed, OperatorRoute simulated) {
  if (installed == OperatorRoute::kUnknown) return nullptr;
  if (simulated == OperatorRoute::kUnknown) return name.starts_with('_') ? nullptr : "removed-operator";
  return simulated == OperatorRoute::kKernel && !runs_on_mps(installed) ? "upgrade-gain" : nullptr;
}

// By "aten::NAME".
using ChangedOperators = std::unordered_map<std::string, std::vector<Changed>>;

ChangedOperators changed_operators() {
  ChangedOperators changed;
  const auto simulated = gpu::device_problem() ? std::nullopt : gpu::simulated_release();
  const auto installed = gpu::history::installed_release(ANYMPS_TORCH_VERSION);
  if (!simulated || !installed) return changed;
  for (const gpu::history::OperatorHistory& history : gpu::history::operator_histories()) {
    const std::size_t dot = std::min(history.name.find('.'), history.name.size());
    const std::string_view name = history.name.substr(0, dot);
    const std::string_view overload = history.name.substr(std::min(dot + 1, history.name.size()));
    if (const char* rule = rule_for(name, history.in(*installed), history.in(*simulated))) {
      changed["aten::" + std::string(name)].push_back({overload, rule});
    }
  }
  return changed;
}

}  // namespace

void check_release(const at::RecordFunction& function) {
  static const ChangedOperators changed = changed_operators();
  if (changed.empty()) return;
  const auto found = changed.find(function.name());
  if (found == changed.end()) return;
  const auto name = function.operator_name();
  const std::string_view overload = name ? std::string_view(name->overload_name) : std::string_view();
  for (const Changed& one : found->second) {
    if (one.overload != overload) continue;
    // What is not there any more is missed on the CPU as well.
    if (one.rule == std::string_view("removed-operator") || has_device_tensor(function)) {
      note_finding(one.rule, function.name());
    }
  }
}

}  // namespace anymps::backend::observe
