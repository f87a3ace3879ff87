// A kernel in three forms: one that is soon there, a fast one once it is worth its while, and one for values that come
// again and again (make_tiered_pipeline).
#include <array>
#include <atomic>
#include <chrono>

#include "metal/engine/fast_form.h"
#include "metal/engine/known_forms.h"
#include "metal/engine/simdgroups.h"
#include "metal/engine/source.h"
#include "metal/pipeline.h"

namespace anymps::metal {
namespace {

using Clock = std::chrono::steady_clock;

// About half of what the fast form of a small kernel takes to compile: whoever has waited that long for launches may
// well launch it again.
constexpr Clock::duration kEnough = std::chrono::milliseconds(10);
// A fast form that has run for so long with the same values is worth compiling for them.
constexpr Clock::duration kRepeated = std::chrono::milliseconds(50);
// A launch of so many threads is worth waiting for the fast form, for a while.
constexpr std::uint64_t kManyThreads = std::uint64_t{1} << 18;
constexpr Clock::duration kPatience = std::chrono::milliseconds(100);

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
    engine::FastForm& form = forms_[static_cast<std::size_t>(simdgroups)];
    if (Pipeline* fast = form.get()) return launch_fast(*fast, simdgroups, launch, threads, group);
    const bool many = std::uint64_t{threads[0]} * threads[1] * threads[2] >= kManyThreads;
    if (many || spent_.load(std::memory_order_relaxed) >= kEnough.count()) {
      form.want(
          source_, [&](lower::LoweringOptions& options) { options.simdgroups = simdgroups; },
          many ? kPatience : Clock::duration::zero());
      if (Pipeline* fast = form.get()) return fast->launch(launch, threads, group);
    }
    launch_timed(*first_, spent_, launch, threads, group);
  }

 private:
  void launch_fast(Pipeline& fast, lower::Simdgroups simdgroups, const Launch& launch, Size threads, Size group) {
    const auto known = known_.find(signature(), launch, simdgroups);
    if (known == nullptr) return fast.launch(launch, threads, group);
    if (known->spent.load(std::memory_order_relaxed) >= kRepeated.count()) {
      if (Pipeline* special = known->fast.get()) return special->launch(launch, threads, group);
      known->fast.want(
          source_,
          [&](lower::LoweringOptions& options) {
            options.simdgroups = simdgroups;
            options.known = known->known;
          },
          Clock::duration::zero());
      return fast.launch(launch, threads, group);
    }
    launch_timed(fast, known->spent, launch, threads, group);
  }

  static void launch_timed(Pipeline& pipeline, std::atomic<Clock::rep>& spent, const Launch& launch, Size threads,
                           Size group) {
    const Clock::time_point began = Clock::now();
    pipeline.launch(launch, threads, group);
    spent.fetch_add((Clock::now() - began).count(), std::memory_order_relaxed);
  }

  const std::shared_ptr<const engine::Source> source_;
  std::shared_ptr<Pipeline> first_;
  std::atomic<Clock::rep> spent_ = 0;                              // in launches of the first
  std::array<engine::FastForm, lower::kKindsOfSimdgroups> forms_;  // by lower::Simdgroups
  engine::KnownForms known_;
};

}  // namespace

std::shared_ptr<Pipeline> make_tiered_pipeline(const FunctionEntry& function, const lower::LoweringOptions& options) {
  return std::make_shared<TieredPipeline>(function, options);
}

}  // namespace anymps::metal
