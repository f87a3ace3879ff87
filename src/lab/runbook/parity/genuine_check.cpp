#include "lab/runbook/parity/genuine_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "lab/base/json_text.h"
#include "lab/host/child.h"
#include "lab/runbook/trial/session.h"

namespace anymps::lab::runbook::parity {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Enough to see the rounding of a kernel, and little to compute.
constexpr std::uint64_t kMostElements = 65536;

// The first by name: the others are of newer language levels, with the same functions.
std::string library_in(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".metallib") found.push_back(entry.path().string());
  }
  const auto first = std::ranges::min_element(found);
  return first != found.end() ? *first : std::string();
}

json slices_of(const KeptRun& run) {
  json slices = json::array();
  std::uint64_t left = kMostElements;
  for (const trial::RecordedValue& value : run.values) {
    if (value.what != "layer" || value.kept != "float32") continue;
    const std::uint64_t count = std::min(left, value.count);
    if (count == 0) break;
    slices.push_back({value.offset, count});
    left -= count;
  }
  return slices;
}

GenuineCheck with_note(const std::string& note) { return {.rows = {}, .notes = {note}}; }

}  // namespace

std::vector<std::string> operators_in(const std::vector<trace::TraceFile>& traces) {
  std::set<std::string> names;
  for (const trace::TraceFile& trace : traces) {
    for (const trace::TraceTally& tally : trace.tallies) {
      // What ran on the device; the host's own calls, such as those of a loader, are of another kind.
      if (tally.kind == gpu::trace::TraceKind::kOperator && tally.name.starts_with("aten::")) names.insert(tally.name);
    }
  }
  return {names.begin(), names.end()};
}

GenuineCheck check_genuine_kernels(const std::string& folder, const std::vector<std::string>& python,
                                   const std::vector<std::string>& operators, const KeptRun& run) {
  if (folder.empty()) {
    return with_note(
        "Apple's own kernels were not run: --genuine FOLDER does that for elementwise operators, with a Metal library "
        "of PyTorch's macOS wheel (tools/genuine_kernels.py FOLDER brings it).");
  }
  const std::string library = library_in(folder);
  if (library.empty())
    return with_note(fmt::format("Apple's own kernels were not run: no .metallib is in {}.", folder));
  const json slices = slices_of(run);
  if (python.empty() || slices.empty()) {
    return with_note("Apple's own kernels were not run: the script has no layer of float32, or no Python starts it.");
  }
  host::ChildCommand command{python, {{"ANYMPS", "1"}}};
  const json asked = {
      {"library", library}, {"operators", operators}, {"values", run.values_path.string()}, {"slices", slices}};
  command.words.insert(command.words.end(), {"-m", "anymps._lab.genuine", asked.dump()});
  const host::ChildResult result = host::run_child(command, host::ChildOutput::kCapture);
  if (result.interrupted) throw host::Interrupted();
  const std::size_t end = result.output.find_last_not_of('\n');
  const std::size_t line = result.output.find_last_of('\n', end);
  const json rows =
      end == std::string::npos || line == std::string::npos ? json() : base::json_of(result.output.substr(line + 1));
  if (result.status() != 0 || !rows.is_array()) {
    return with_note(fmt::format("Apple's own kernels could not be run: the child ended with status {}.",
                                 result.start_error.empty() ? std::to_string(result.status()) : result.start_error));
  }
  const auto check = document::described_from<GenuineCheck>({{"rows", rows}});
  if (check.rows.empty()) return with_note("No operator of the script has an elementwise kernel in Apple's library.");
  return check;
}

}  // namespace anymps::lab::runbook::parity
