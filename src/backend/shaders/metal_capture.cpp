#include "backend/shaders/metal_capture.h"

#include <c10/util/Exception.h>
#include <torch/version.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string_view>

#include "backend/observe/details.h"
#include "backend/observe/synchronize.h"
#include "backend/shaders/metal_plugin.h"
#include "gpu/device.h"
#include "gpu/support/fork_generation.h"
#include "gpu/trace/trace.h"

namespace anymps::backend::shaders {
namespace {

// Operators that ran on the device since then.
std::vector<metal::capture::RanOperator> operators_since(std::uint64_t first_event) {
  std::map<std::string, metal::capture::RanOperator> by_name;
  if (const gpu::trace::Trace* trace = gpu::trace::Trace::current()) {
    trace->read(first_event, [&](const gpu::trace::TraceEvent& event) {
      if (event.kind != gpu::trace::TraceKind::kOperator) return;
      metal::capture::RanOperator& ran = by_name[std::string(event.name)];
      ran.name = event.name;
      ++ran.count;
      ran.nanoseconds += event.b;
    });
  }
  std::vector<metal::capture::RanOperator> operators;
  for (auto& [name, ran] : by_name) operators.push_back(std::move(ran));
  return operators;
}

class Capturing {
 public:
  // One load where nothing is captured. A forked child does not write into its parent's folder.
  bool active() const noexcept {
    return active_.load(std::memory_order_acquire) && generation_ == gpu::support::fork_generation();
  }

  void start(const std::string& name) {
    const std::lock_guard lock(mutex_);
    // Counted whether or not it comes to something, as in PyTorch.
    char number[16];
    std::snprintf(number, sizeof number, "%04u", count_++);
    const std::string folder = std::string(number) + "-" + name + ".gputrace";
    TORCH_CHECK(capture_is_enabled(), "Failed to start capture of ", folder,
                " error capturing is not enabled: set MTL_CAPTURE_ENABLED=1 before the program starts");
    TORCH_CHECK(!active(), "Failed to start capture of ", folder, " error a capture is already in progress");
    try {
      capture_ = metal_plugin().capture(
          folder, {{"device", gpu::device_facts().name}, {"torch", TORCH_VERSION}, {"anymps", ANYMPS_VERSION}});
    } catch (const std::exception& error) {
      TORCH_CHECK(false, "Failed to start capture of ", folder, " error ", error.what());
    }
    observe::begin_details(observe::Watched::kAtItsCall);
    const gpu::trace::Trace* trace = gpu::trace::Trace::current();
    first_event_ = trace != nullptr ? trace->written() : 0;
    reachable_.clear();
    generation_ = gpu::support::fork_generation();
    active_.store(true, std::memory_order_release);
  }

  void stop() {
    const std::shared_ptr<metal::capture::Capture> capture = close();
    if (!capture) return;
    const std::vector<metal::capture::RanOperator> operators = operators_since(first_event_);
    observe::end_details(observe::Watched::kAtItsCall);
    try {
      capture->finish(operators);
    } catch (const std::exception& error) {
      TORCH_WARN("anymps: the capture is not complete: ", error.what());
    }
  }

  void give_up(const std::exception& error) {
    if (!close()) return;
    observe::end_details(observe::Watched::kAtItsCall);
    TORCH_WARN("anymps: the capture ends here, the program goes on: ", error.what());
  }

  std::shared_ptr<metal::capture::Capture> capture() const {
    const std::lock_guard lock(mutex_);
    return capture_;
  }

  void note_reachable(const metal::capture::Memory& memory) {
    const std::lock_guard lock(mutex_);
    reachable_[memory.base] = memory;
  }
  std::vector<metal::capture::Memory> reachable() const {
    const std::lock_guard lock(mutex_);
    std::vector<metal::capture::Memory> all;
    for (const auto& [base, memory] : reachable_) all.push_back(memory);
    return all;
  }

 private:
  std::shared_ptr<metal::capture::Capture> close() {
    const std::lock_guard lock(mutex_);
    active_.store(false, std::memory_order_release);
    return std::exchange(capture_, nullptr);
  }

  mutable std::mutex mutex_;
  std::atomic<bool> active_{false};
  std::uint32_t generation_ = 0;
  unsigned count_ = 0;
  std::shared_ptr<metal::capture::Capture> capture_;
  std::uint64_t first_event_ = 0;
  std::map<std::byte*, metal::capture::Memory> reachable_;
};

Capturing& capturing() {
  static auto* const only = new Capturing;
  return *only;
}

}  // namespace

bool capture_is_enabled() {
  const char* value = std::getenv("MTL_CAPTURE_ENABLED");
  return value != nullptr && std::string_view(value) == "1";
}

bool is_capturing() noexcept { return capturing().active(); }

void start_capture(const std::string& name) { capturing().start(name); }

void stop_capture() {
  std::exception_ptr left_behind;
  try {
    observe::synchronize("metal capture");
  } catch (...) {
    left_behind = std::current_exception();
  }
  capturing().stop();
  if (left_behind) std::rethrow_exception(left_behind);
}

void note_reachable(const metal::capture::Memory& memory) { capturing().note_reachable(memory); }

CapturedRun::CapturedRun(const PipelineHandle& pipeline, const Encoding& encoding, const metal::pipeline::Size& threads,
                         const metal::pipeline::Size& group)
    : capture_(capturing().capture()) {
  if (!capture_) return;
  const metal::air::Signature& signature = pipeline.pipeline->signature();
  const std::vector<metal::capture::Memory> reachable = capturing().reachable();
  try {
    number_ = capture_->begun({.library = pipeline.library,
                               .kernel = signature.kernel,
                               .signature = signature,
                               .launch = encoding.launch,
                               .threads = threads,
                               .group = group,
                               .around = encoding.around,
                               .reachable = reachable});
  } catch (const std::exception& error) {
    capturing().give_up(error);
    capture_.reset();
  }
  began_ns_ = gpu::trace::Trace::now_ns();
}

void CapturedRun::end() {
  if (!capture_) return;
  const std::uint64_t took_ns = gpu::trace::Trace::now_ns() - began_ns_;
  try {
    capture_->ended(number_, took_ns);
  } catch (const std::exception& error) {
    capturing().give_up(error);
  }
}

}  // namespace anymps::backend::shaders
