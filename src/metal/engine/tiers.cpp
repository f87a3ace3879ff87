// A kernel in two forms: one that is soon there, and a fast one once it is worth its while (make_tiered_pipeline).
#include <atomic>
#include <chrono>
#include <mutex>

#include "metal/engine/source.h"
#include "metal/pipeline.h"

namespace anymps::metal {
namespace {

using Clock = std::chrono::steady_clock;

// About half of what the fast form of a small kernel takes to compile: whoever has waited that long for launches may
// well wait again.
constexpr Clock::duration kEnough = std::chrono::milliseconds(10);
// A launch that is not tried with the slow form.
constexpr std::uint64_t kManyThreads = std::uint64_t{1} << 18;

class TieredPipeline final : public Pipeline {
 public:
  TieredPipeline(const FunctionEntry& function, const lower::LoweringOptions& options) : source_(function, options) {
    lower::LoweringOptions soon = options;
    soon.soon = true;
    first_ = make_pipeline(function, soon);
  }

  const Signature& signature() const override { return first_->signature(); }
  lower::Route route() const override { return first_->route(); }

  void launch(const Launch& launch, Size threads, Size group) override {
    if (launch.validate) return first_->launch(launch, threads, group);
    const bool many = std::uint64_t{threads[0]} * threads[1] * threads[2] >= kManyThreads;
    if (many || spent_.load(std::memory_order_relaxed) >= kEnough.count()) return fast().launch(launch, threads, group);
    const Clock::time_point began = Clock::now();
    first_->launch(launch, threads, group);
    spent_.fetch_add((Clock::now() - began).count(), std::memory_order_relaxed);
  }

 private:
  Pipeline& fast() {
    std::call_once(once_, [&] { fast_ = source_.pipeline(fast_options()); });
    return *fast_;
  }

  lower::LoweringOptions fast_options() const {
    lower::LoweringOptions options = source_.options;
    options.simdgroups = lower::Simdgroups::kWhole;
    return options;
  }

  const engine::Source source_;
  std::shared_ptr<Pipeline> first_;
  std::atomic<Clock::rep> spent_ = 0;  // in launches of the first
  std::once_flag once_;
  std::shared_ptr<Pipeline> fast_;
};

}  // namespace

std::shared_ptr<Pipeline> make_tiered_pipeline(const FunctionEntry& function, const lower::LoweringOptions& options) {
  return std::make_shared<TieredPipeline>(function, options);
}

}  // namespace anymps::metal
