#include "lab/size/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "lab/base/json_optional.h"
#include "lab/base/least_squares.h"
#include "lab/base/units.h"

namespace anymps::lab::size {
namespace {

std::optional<double> step_seconds_on(const gpu::history::MacProfile& mac, const SizeFigures& figures) {
  if (figures.step_flops <= 0 && figures.step_bytes <= 0) return std::nullopt;
  return std::max(figures.step_flops / (mac.peak_flops.value * kShareOfPeak),
                  figures.step_bytes / (mac.bandwidth.value * kShareOfPeak));
}

// So that no limit says anything but "fits". A buffer has the size that was asked for, here as there, so no margin is
// kept from the limit of one.
std::optional<std::uint64_t> largest_batch_on(const MacFit& fit, const BatchFigures& batch) {
  const double others = fit.mac.memory.value - fit.swaps_at;
  const double room = fit.mac.memory.value * (1 - kMargin) - others - static_cast<double>(batch.host_bytes());
  const auto together = batch.block_line().largest_within(std::min(fit.limit_bytes * (1 - kMargin), room));
  // Metal's limit is the first size that it refuses.
  const auto one = batch.buffer_line().largest_within(fit.buffer_limit - 1);
  return together && one ? std::min(*together, *one) : together;
}

nlohmann::json batch_line_json(const BatchLine& line) {
  return {{"base_bytes", line.base}, {"bytes_per_sample", line.per_sample}};
}

nlohmann::json mac_fit_json(const MacFit& fit) {
  return {{"name", fit.mac.name},
          {"verdict", fit_text(fit.fit)},
          {"memory_bytes", fit.mac.memory.value},
          {"max_buffer_bytes", fit.buffer_limit},
          {"buffer_share", fit.buffer_share},
          {"limit_bytes", fit.limit_bytes},
          {"limit_share", fit.limit_share},
          {"swaps_at_bytes", fit.swaps_at},
          {"memory_share", fit.memory_share},
          {"estimated_step_seconds", base::or_null(fit.step_seconds)},
          {"largest_batch", base::or_null(fit.largest_batch)}};
}

}  // namespace

BatchLine BatchLine::through(const std::vector<std::uint64_t>& batches, const std::vector<std::uint64_t>& peaks) {
  const auto count = static_cast<std::ptrdiff_t>(std::min(batches.size(), peaks.size()));
  if (count == 0) return {};
  const base::StraightLine line =
      base::StraightLine::through(std::vector<double>(batches.begin(), batches.begin() + count),
                                  std::vector<double>(peaks.begin(), peaks.begin() + count));
  return {line.base, line.slope};
}

std::optional<std::uint64_t> BatchLine::largest_within(double bytes) const {
  if (per_sample <= 0) return std::nullopt;
  return bytes > base ? static_cast<std::uint64_t>((bytes - base) / per_sample) : 0;
}

bool BatchFigures::is_straight() const {
  // Rounding and temporaries bend a line by less than this.
  constexpr double kBend = 1.6;
  std::map<std::uint64_t, double> peaks;
  for (std::size_t i = 0; i < batches.size(); ++i) peaks[batches[i]] = static_cast<double>(block_bytes[i]);
  if (peaks.size() < 3) return false;
  const auto [largest, high] = *std::prev(peaks.end());
  const auto [middle, between] = *std::prev(peaks.end(), 2);
  const auto [smallest, low] = *std::prev(peaks.end(), 3);
  const double upper = (high - between) / static_cast<double>(largest - middle);
  const double lower = (between - low) / static_cast<double>(middle - smallest);
  return lower > 0 && upper > 0 && upper < lower * kBend && lower < upper * kBend;
}

void BatchFigures::keep_largest() {
  while (batches.size() > 3) {
    const auto at = std::ranges::min_element(batches) - batches.begin();
    for (std::vector<std::uint64_t>* row : {&batches, &block_bytes, &resident_bytes, &largest_buffer}) {
      row->erase(row->begin() + at);
    }
  }
}

std::uint64_t BatchFigures::host_bytes() const {
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < std::min(block_bytes.size(), resident_bytes.size()); ++i) {
    if (resident_bytes[i] > block_bytes[i]) most = std::max(most, resident_bytes[i] - block_bytes[i]);
  }
  return most;
}

MacFit fit_on(const gpu::history::MacProfile& mac, gpu::history::MacosVersion macos, const SizeFigures& figures,
              const BatchFigures* batch) {
  MacFit fit;
  fit.mac = mac;
  fit.buffer_limit =
      static_cast<double>(gpu::history::max_buffer_for(static_cast<std::size_t>(mac.working_set(macos).value)));
  fit.buffer_share = static_cast<double>(figures.largest_buffer) / fit.buffer_limit;
  fit.limit_bytes = kHighWatermark * mac.working_set(macos).value;
  fit.limit_share = static_cast<double>(figures.block_bytes) / fit.limit_bytes;
  fit.swaps_at = std::max(0.0, mac.memory.value - static_cast<double>(figures.other_bytes));
  fit.memory_share = static_cast<double>(figures.resident_bytes + figures.other_bytes) / mac.memory.value;
  const double worse = std::max(fit.limit_share, fit.memory_share);
  if (fit.buffer_share >= 1) {
    // Known to the byte, unlike the others.
    fit.fit = Fit::kBufferTooLarge;
  } else if (worse <= 1 - kMargin) {
    fit.fit = Fit::kFits;
  } else if (worse <= 1 + kMargin) {
    fit.fit = Fit::kTooClose;
  } else {
    // An error is what the user meets first.
    fit.fit = fit.limit_share > 1 + kMargin ? Fit::kOutOfMemory : Fit::kSwaps;
  }
  fit.step_seconds = step_seconds_on(mac, figures);
  if (batch != nullptr && batch->is_straight()) fit.largest_batch = largest_batch_on(fit, *batch);
  return fit;
}

void judge(SizeReport& report) {
  report.macs.clear();
  for (const gpu::history::MacProfile& mac : gpu::history::all_macs()) {
    report.macs.push_back(fit_on(mac, report.macos, report.figures, report.batch ? &*report.batch : nullptr));
  }
}

std::string fit_text(Fit fit) {
  switch (fit) {
    case Fit::kFits:
      return "fits";
    case Fit::kTooClose:
      return "too close to call";
    case Fit::kBufferTooLarge:
      return "buffer too large";
    case Fit::kOutOfMemory:
      return "out of memory";
    case Fit::kSwaps:
      return "would swap";
  }
  return {};
}

std::vector<std::string> size_notes(const SizeReport& report) {
  std::vector<std::string> notes = {
      fmt::format(
          "A verdict is given where the need is more than {:.0f}% away from a limit. Limits: {} working sets for "
          "the device's buffers, beyond which PyTorch raises its out-of-memory error; the Mac's memory for all "
          "processes and other apps, beyond which it swaps. A single buffer may have 3/4 of a working set; the largest "
          "here has {}.",
          100 * kMargin, kHighWatermark, base::human_bytes(report.figures.largest_buffer)),
      fmt::format("Left out: temporaries and caches of Apple's graph library, the driver's rounding, {}.",
                  report.figures.other_bytes > 0
                      ? "whatever of macOS and other apps is not in the " +
                            base::human_bytes(report.figures.other_bytes) + " of --other-apps"
                      : std::string("macOS itself and other apps (--other-apps 4gb counts them)"))};
  if (!report.shared_once) notes.emplace_back("Pages that processes share were counted for each of them.");
  if (report.figures.step_flops > 0 || report.figures.step_bytes > 0) {
    notes.push_back(
        fmt::format("Step times are estimates, nothing was measured on a Mac: max(FLOPs / (peak FLOPS x {0}), bytes / "
                    "(bandwidth x {0})) with {1:.4g} FLOPs and {2} a step, as counted here; {0} is assumed.",
                    kShareOfPeak, report.figures.step_flops,
                    base::human_bytes(static_cast<std::uint64_t>(report.figures.step_bytes))));
  } else {
    notes.emplace_back("No estimate of step times: the third step of an optimiser is counted, and there was none.");
  }
  if (report.batch) {
    const BatchLine line = report.batch->block_line();
    if (line.per_sample <= 0) {
      notes.push_back("No largest batch: memory on the device did not grow with " + report.batch->argument + ".");
    } else if (!report.batch->is_straight()) {
      notes.push_back(
          fmt::format("No largest batch: the peaks with {} {} do not lie on a line, so something else than the "
                      "batch holds them, such as a validation with batches of its own. Try a larger one.",
                      report.batch->argument, fmt::join(report.batch->batches, ", ")));
    } else {
      notes.push_back(
          fmt::format("Largest batch, an extrapolation: peak on the device = {} + {} x {}, through {} runs, and {} "
                      "beside it at any "
                      "batch; the largest that is called fitting.",
                      base::human_bytes(static_cast<std::uint64_t>(std::max(0.0, line.base))),
                      base::human_bytes(static_cast<std::uint64_t>(line.per_sample)), report.batch->argument,
                      report.batch->batches.size(), base::human_bytes(report.batch->host_bytes())));
    }
  }
  return notes;
}

nlohmann::json to_json(const SizeReport& report) {
  const SizeFigures& figures = report.figures;
  auto macs = nlohmann::json::array();
  for (const MacFit& fit : report.macs) macs.push_back(mac_fit_json(fit));
  trace::RunReport run;
  run.run = report.run;
  nlohmann::json json = {{"version", 1},
                         {"run", to_json(run)["run"]},
                         {"macos", report.macos.text()},
                         {"block_bytes", figures.block_bytes},
                         {"largest_buffer_bytes", figures.largest_buffer},
                         {"resident_bytes", figures.resident_bytes},
                         {"resident_processes", report.processes},
                         {"other_bytes", figures.other_bytes},
                         {"step_flops", figures.step_flops > 0 ? nlohmann::json(figures.step_flops) : nlohmann::json()},
                         {"step_bytes", figures.step_bytes > 0 ? nlohmann::json(figures.step_bytes) : nlohmann::json()},
                         {"margin", kMargin},
                         {"share_of_peak", kShareOfPeak},
                         {"notes", size_notes(report)},
                         {"macs", std::move(macs)}};
  if (report.batch) {
    json["batch"] = {{"argument", report.batch->argument},
                     {"batches", report.batch->batches},
                     {"block_bytes", report.batch->block_bytes},
                     {"resident_bytes", report.batch->resident_bytes},
                     {"largest_buffer_bytes", report.batch->largest_buffer},
                     {"block_line", batch_line_json(report.batch->block_line())},
                     {"buffer_line", batch_line_json(report.batch->buffer_line())},
                     {"host_bytes", report.batch->host_bytes()}};
  }
  return json;
}

}  // namespace anymps::lab::size
