// What changes on MPS for a program that goes from one release of PyTorch to another, which may be the older one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/history/operator_history.h"
#include "gpu/history/refusal_history.h"
#include "lab/base/terminal.h"

namespace anymps::lab::coverage {

enum class OperatorChange : std::uint8_t {
  kRemoved,     // there is no such operator any more
  kLost,        // ran on MPS, and does not
  kGained,      // runs on MPS, and did not; or came with the release
  kNewRefused,  // came with the release, without MPS
};
std::string_view to_text(OperatorChange change);  // "removed"

// Nothing where a program sees no difference: a kernel of its own in place of other operators, say. A composite counts
// as refused where a part is that all its calls need.
std::optional<OperatorChange> operator_change(const gpu::history::OperatorHistory& history, std::size_t from,
                                              std::size_t to);

struct ReleaseDifference {
  struct Changed {
    gpu::history::OperatorHistory history;
    OperatorChange change;
  };

  std::size_t from = 0;  // of torch_releases()
  std::size_t to = 0;
  std::vector<Changed> operators;  // by name
  std::vector<gpu::history::RefusalHistory> new_refusals;
  std::vector<gpu::history::RefusalHistory> gone_refusals;
  bool refusals_known = true;  // for both releases
};
ReleaseDifference release_difference(std::size_t from, std::size_t to);

// A part for each kind of change. Overloads are one name where all of them change alike, and operators whose name
// begins with an underscore, which programs do not call themselves, stand behind the others.
std::string difference_screen(const ReleaseDifference& difference, const base::Terminal& terminal);
// {"version", "from", "to", "operators": {NAME: {"change", "from", "to"}}, "refusals": {"new": [...], "gone": [...]}};
// "refusals" is null where they are not known for both releases.
nlohmann::json difference_to_json(const ReleaseDifference& difference);

}  // namespace anymps::lab::coverage
