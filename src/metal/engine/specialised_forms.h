// Forms of a kernel for the values that launches give it: sizes and strides, which repeat.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

#include "metal/engine/fast_form.h"
#include "metal/lower/transform/propagate_arguments.h"

namespace anymps::metal::engine {

// What a launch gives by value, of at most `kMostArgumentBytes` bytes together; the rest is read as ever.
inline constexpr std::size_t kMostArgumentBytes = 1024;
lower::transform::ArgumentValues argument_values(const air::Signature& signature, const pipeline::Launch& launch);

class SpecialisedForms {
 public:
  struct Form {
    lower::vectorize::Simdgroups simdgroups;
    lower::transform::ArgumentValues known;
    FastForm fast;
    std::atomic<std::chrono::nanoseconds::rep> spent = 0;  // in launches of other forms

    bool is_for(const pipeline::Launch& launch, lower::vectorize::Simdgroups kind) const;
  };

  // The one for such a launch. Null where nothing is given by value, or another thread asks at this moment. The last
  // few are kept.
  std::shared_ptr<Form> find(const air::Signature& signature, const pipeline::Launch& launch,
                             lower::vectorize::Simdgroups simdgroups);

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<Form>> forms_;  // the latest first
};

}  // namespace anymps::metal::engine
