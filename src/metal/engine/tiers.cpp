// A kernel in two forms: one that is soon there, and a fast one once it is worth its while (make_tiered_pipeline).
#include <array>
#include <atomic>
#include <chrono>
#include <mutex>

#include "metal/engine/background.h"
#include "metal/engine/simdgroups.h"
#include "metal/engine/source.h"
#include "metal/pipeline.h"

namespace anymps::metal {
namespace {

using Clock = std::chrono::steady_clock;

// About half of what the fast form of a small kernel takes to compile: whoever has waited that long for launches may
// well launch it again.
constexpr Clock::duration kEnough = std::chrono::milliseconds(10);
// A launch of so many threads is worth waiting for the fast form, for a while.
constexpr std::uint64_t kManyThreads = std::uint64_t{1} << 18;
constexpr Clock::duration kPatience = std::chrono::milliseconds(100);

// A fast form, from when it is asked for to when it is there. Any thread may ask.
class FastForm {
 public:
  // Null while it is not there, or cannot be.
  Pipeline* get() const { return ready_.load(std::memory_order_acquire); }

  // Begins with it. `wait`: not longer than kPatience for it.
  void want(const std::shared_ptr<const engine::Source>& source, lower::Simdgroups simdgroups, bool wait) {
    std::call_once(once_, [&] {
      state_ = std::make_shared<State>();
      done_ = engine::in_background([state = state_, source, simdgroups] {
        lower::LoweringOptions options = source->options;
        options.simdgroups = simdgroups;
        state->pipeline = source->pipeline(options);
      });
    });
    if (get() != nullptr) return;
    if (done_.wait_for(wait ? kPatience : Clock::duration::zero()) != std::future_status::ready) return;
    // The first form is there for what could not be made.
    ready_.store(state_->pipeline.get(), std::memory_order_release);
  }

 private:
  // Outlives this object where that goes first.
  struct State {
    std::shared_ptr<Pipeline> pipeline;
  };

  std::once_flag once_;
  std::shared_ptr<State> state_;
  std::shared_future<void> done_;
  std::atomic<Pipeline*> ready_ = nullptr;
};

class TieredPipeline final : public Pipeline {
 public:
  TieredPipeline(const FunctionEntry& function, const lower::LoweringOptions& options)
      : source_(std::make_shared<engine::Source>(function, options)) {
    lower::LoweringOptions soon = options;
    soon.soon = true;
    first_ = make_pipeline(function, soon);
  }

  const Signature& signature() const override { return first_->signature(); }
  lower::Route route() const override { return first_->route(); }

  void launch(const Launch& launch, Size threads, Size group) override {
    if (launch.validate) return first_->launch(launch, threads, group);
    const lower::Simdgroups simdgroups =
        route() == lower::Route::kThreadLoop ? lower::Simdgroups::kWhole : engine::simdgroups_of(threads, group);
    FastForm& form = forms_[static_cast<std::size_t>(simdgroups)];
    if (Pipeline* fast = form.get()) return fast->launch(launch, threads, group);
    const bool many = std::uint64_t{threads[0]} * threads[1] * threads[2] >= kManyThreads;
    if (many || spent_.load(std::memory_order_relaxed) >= kEnough.count()) {
      form.want(source_, simdgroups, many);
      if (Pipeline* fast = form.get()) return fast->launch(launch, threads, group);
    }
    const Clock::time_point began = Clock::now();
    first_->launch(launch, threads, group);
    spent_.fetch_add((Clock::now() - began).count(), std::memory_order_relaxed);
  }

 private:
  const std::shared_ptr<const engine::Source> source_;
  std::shared_ptr<Pipeline> first_;
  std::atomic<Clock::rep> spent_ = 0;                      // in launches of the first
  std::array<FastForm, lower::kKindsOfSimdgroups> forms_;  // by lower::Simdgroups
};

}  // namespace

std::shared_ptr<Pipeline> make_tiered_pipeline(const FunctionEntry& function, const lower::LoweringOptions& options) {
  return std::make_shared<TieredPipeline>(function, options);
}

}  // namespace anymps::metal
