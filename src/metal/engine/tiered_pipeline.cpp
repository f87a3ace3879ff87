// A kernel in three forms: one that is soon there, a fast one once it is worth its while, and one for values that come
// again and again (make_tiered_pipeline).
#include <array>
#include <atomic>
#include <chrono>

#include "metal/engine/fast_form.h"
#include "metal/engine/make_pipeline.h"
#include "metal/engine/source.h"
#include "metal/engine/specialised_forms.h"
#include "metal/pipeline/pipeline.h"
#include "metal/runtime/simdgroups.h"

namespace anymps::metal::engine {
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

class TieredPipeline final : public pipeline::Pipeline {
 public:
  TieredPipeline(const library::FunctionEntry& function, const lower::LoweringOptions& options)
      : source_(std::make_shared<Source>(function, options)) {
    lower::LoweringOptions soon = options;
    soon.soon = true;
    first_ = make_pipeline(function, soon);
  }

  const air::Signature& signature() const override { return first_->signature(); }
  abi::Route route() const override { return first_->route(); }

  void launch(const pipeline::Launch& launch, pipeline::Size threads, pipeline::Size group) override {
    if (launch.validate) return first_->launch(launch, threads, group);
    const lower::vectorize::Simdgroups simdgroups = route() == abi::Route::kThreadLoop
                                                        ? lower::vectorize::Simdgroups::kWhole
                                                        : runtime::simdgroups_of(threads, group);
    FastForm& form = forms_[static_cast<std::size_t>(simdgroups)];
    if (pipeline::Pipeline* fast = form.get()) return launch_fast(*fast, simdgroups, launch, threads, group);
    const bool many = std::uint64_t{threads[0]} * threads[1] * threads[2] >= kManyThreads;
    if (many || spent_.load(std::memory_order_relaxed) >= kEnough.count()) {
      form.want(
          source_, [&](lower::LoweringOptions& options) { options.simdgroups = simdgroups; },
          many ? kPatience : Clock::duration::zero());
      if (pipeline::Pipeline* fast = form.get()) return fast->launch(launch, threads, group);
    }
    launch_timed(*first_, spent_, launch, threads, group);
  }

 private:
  void launch_fast(pipeline::Pipeline& fast, lower::vectorize::Simdgroups simdgroups, const pipeline::Launch& launch,
                   pipeline::Size threads, pipeline::Size group) {
    const auto known = known_.find(signature(), launch, simdgroups);
    if (known == nullptr) return fast.launch(launch, threads, group);
    if (known->spent.load(std::memory_order_relaxed) >= kRepeated.count()) {
      if (pipeline::Pipeline* special = known->fast.get()) return special->launch(launch, threads, group);
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

  static void launch_timed(pipeline::Pipeline& pipeline, std::atomic<Clock::rep>& spent, const pipeline::Launch& launch,
                           pipeline::Size threads, pipeline::Size group) {
    const Clock::time_point began = Clock::now();
    pipeline.launch(launch, threads, group);
    spent.fetch_add((Clock::now() - began).count(), std::memory_order_relaxed);
  }

  const std::shared_ptr<const Source> source_;
  std::shared_ptr<pipeline::Pipeline> first_;
  std::atomic<Clock::rep> spent_ = 0;                                 // in launches of the first
  std::array<FastForm, lower::vectorize::kKindsOfSimdgroups> forms_;  // by lower::vectorize::Simdgroups
  SpecialisedForms known_;
};

}  // namespace

std::shared_ptr<pipeline::Pipeline> make_tiered_pipeline(const library::FunctionEntry& function,
                                                         const lower::LoweringOptions& options) {
  return std::make_shared<TieredPipeline>(function, options);
}

}  // namespace anymps::metal::engine
