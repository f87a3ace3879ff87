// On which Macs a run would have fitted: what it needed, held against each Mac of data/macs.
//
// A pure function of figures and profiles; `anymps size` measures the figures, size_screen and size_html show the
// answers. Three questions are asked of each Mac: is the largest buffer below what Metal allows for one, do the
// device's buffers together stay below the limit at which PyTorch raises its out-of-memory error, and do all processes
// of the run, with what else is open, stay below the Mac's memory, beyond which it swaps? The worse answer is the
// verdict.
#pragma once

#include <algorithm>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gpu/history/mac_profile.h"
#include "lab/trace/run_summary.h"

namespace anymps::lab::size {

// PyTorch's default: it refuses an allocation beyond this many working sets.
inline constexpr double kHighWatermark = 1.7;
// Either side of a limit within which no verdict is given. Chosen, not measured: temporaries of Apple's graph library
// and the driver's rounding differ from those here.
inline constexpr double kMargin = 0.15;
// Of peak arithmetic and of bandwidth that a step is taken to reach. Assumed, not measured.
inline constexpr double kShareOfPeak = 0.5;

// What one run needed.
struct SizeFigures {
  std::uint64_t block_bytes = 0;     // peak in tensors and temporaries on the device
  std::uint64_t resident_bytes = 0;  // peak of the process tree; the device's memory is in it
  std::uint64_t other_bytes = 0;     // other apps, as the user has it
  double step_flops = 0;             // of one step; 0 where none was counted
  double step_bytes = 0;
  std::uint64_t largest_buffer = 0;  // bytes of it
};

// peak = base + per_sample * batch, by least squares.
struct BatchLine {
  double base = 0;
  double per_sample = 0;

  static BatchLine through(const std::vector<std::uint64_t>& batches, const std::vector<std::uint64_t>& peaks);
  // The largest batch whose peak is at most `bytes`; nothing where memory does not grow with the batch.
  std::optional<std::uint64_t> largest_within(double bytes) const;
};

struct BatchFigures {
  std::string argument;  // "--batch-size"
  std::vector<std::uint64_t> batches;
  std::vector<std::uint64_t> block_bytes;
  std::vector<std::uint64_t> resident_bytes;
  std::vector<std::uint64_t> largest_buffer;  // bytes of it

  // Whether the peaks of the three largest batches lie on a line that rises. They do not where something else than the
  // batch holds the peak, such as a validation with batches of its own.
  bool is_straight() const;
  // The three largest alone.
  void keep_largest();

  BatchLine block_line() const { return BatchLine::through(batches, block_bytes); }
  BatchLine buffer_line() const { return BatchLine::through(batches, largest_buffer); }
  // What the processes took beside the device's memory, at most. Taken as the same for every batch: resident sets vary
  // from run to run by more than a batch on the host takes.
  std::uint64_t host_bytes() const;
};

enum class Fit { kFits, kTooClose, kBufferTooLarge, kOutOfMemory, kSwaps };

struct MacFit {
  gpu::history::MacProfile mac;
  Fit fit = Fit::kFits;
  double buffer_limit = 0;             // bytes of one buffer
  double buffer_share = 0;             // of it that the largest has
  double limit_bytes = 0;              // for the device's buffers
  double limit_share = 0;              // of it that the run needed
  double swaps_at = 0;                 // bytes of this run beyond which the Mac would swap
  double memory_share = 0;             // of the Mac's memory, other apps included
  std::optional<double> step_seconds;  // an estimate
  std::optional<std::uint64_t> largest_batch;

  // The share of whichever limit is nearest.
  double share() const { return std::max({buffer_share, limit_share, memory_share}); }
};

struct SizeReport {
  trace::RunSummary run;
  gpu::history::MacosVersion macos;
  SizeFigures figures;
  std::size_t processes = 0;  // at the peak of the resident sets
  bool shared_once = true;
  std::optional<BatchFigures> batch;
  std::vector<MacFit> macs;
};

MacFit fit_on(const gpu::history::MacProfile& mac, gpu::history::MacosVersion macos, const SizeFigures& figures,
              const BatchFigures* batch = nullptr);

// Fills `macs` from the rest.
void judge(SizeReport& report);

// "fits", "too close to call", "buffer too large", "out of memory", "would swap".
std::string fit_text(Fit fit);

// What the verdicts leave out and how the estimate is made, a sentence each.
std::vector<std::string> size_notes(const SizeReport& report);

nlohmann::json to_json(const SizeReport& report);

}  // namespace anymps::lab::size
