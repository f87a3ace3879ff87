// By which route each of PyTorch's operators runs on a Mac's GPU, release by release. The facts lie in
// data/coverage/history.txt, come from the wheels (tools/coverage_history.py), and are compiled in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace anymps::gpu::history {

enum class OperatorRoute : char {
  kKernel = 'm',
  kComposite = 'c',
  kFallback = 'f',  // on the CPU, without being asked
  kRefused = '-',   // or on the CPU with PYTORCH_ENABLE_MPS_FALLBACK=1
  kUnknown = '.',   // there is no such operator in the release
};

constexpr bool runs_on_mps(OperatorRoute route) {
  return route == OperatorRoute::kKernel || route == OperatorRoute::kComposite;
}

struct OperatorHistory {
  std::string_view name;    // "add.Tensor", without namespace
  std::string_view routes;  // one for each of torch_releases()

  OperatorRoute in(std::size_t release) const { return static_cast<OperatorRoute>(routes[release]); }
};

// A part of an operator that is made of others, where some release has no kernel for the part.
struct CompositePart {
  std::string_view composite;  // without overload
  std::string_view part;       // the name of an OperatorHistory
  bool in_all_calls;           // that were seen: PyTorch's own samples
};

struct TorchRelease {
  std::string_view version;  // "2.7.0"
  std::string_view commit;   // of PyTorch's repository, as its errors quote it
};

// The oldest first.
std::span<const TorchRelease> torch_releases();

// The index of a release, "2.8" being the last 2.8.x; and of the newest that is older than this one and all 2.8.x.
// Nothing where there is none.
std::optional<std::size_t> torch_release(std::string_view version);
std::optional<std::size_t> torch_release_before(std::string_view version);

// The index of a release that somebody has ("2.13.0+cpu"). One that came after the table counts as the newest of its
// minor release that the table has.
std::optional<std::size_t> installed_release(std::string_view version);

// All operators, by name; and the one of this name, or null.
std::span<const OperatorHistory> operator_histories();
const OperatorHistory* operator_history(std::string_view name);

// What is known to be missing of a composite, whichever overload is named (data/coverage/composites.tsv).
std::vector<CompositePart> lacking_parts_of(std::string_view name);

// As OperatorHistory::in(), but a composite is refused where a part is that all its calls need.
OperatorRoute route_with_parts(const OperatorHistory& history, std::size_t release);

// The name itself, or all overloads of a name without one.
std::vector<OperatorHistory> overloads_of(std::string_view name);

}  // namespace anymps::gpu::history
