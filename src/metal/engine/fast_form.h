// A form of a kernel that is compiled in the background, from when it is asked for to when it is there.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>

#include "metal/engine/background.h"
#include "metal/engine/source.h"
#include "metal/pipeline/pipeline.h"

namespace anymps::metal::engine {

// Any thread may ask.
class FastForm {
 public:
  // Null while it is not there, or cannot be.
  pipeline::Pipeline* get() const { return ready_.load(std::memory_order_acquire); }

  // Begins with it, the first time, and waits for it, but not for longer than that. `change` says how it is to differ
  // from the source's options.
  void want(const std::shared_ptr<const Source>& source,
            const std::function<void(lower::LoweringOptions& options)>& change, std::chrono::nanoseconds patience) {
    std::call_once(once_, [&] {
      lower::LoweringOptions options = source->options;
      change(options);
      state_ = std::make_shared<State>();
      done_ = in_background(Need::kWhenever,
                            [state = state_, source, options] { state->pipeline = source->pipeline(options); });
    });
    if (get() != nullptr || done_.wait_for(patience) != std::future_status::ready) return;
    // What could not be made is null: the first form is there for it.
    ready_.store(state_->pipeline.get(), std::memory_order_release);
  }

 private:
  // Outlives this object where that goes first.
  struct State {
    std::shared_ptr<pipeline::Pipeline> pipeline;
  };

  std::once_flag once_;
  std::shared_ptr<State> state_;
  std::shared_future<void> done_;
  std::atomic<pipeline::Pipeline*> ready_ = nullptr;
};

}  // namespace anymps::metal::engine
