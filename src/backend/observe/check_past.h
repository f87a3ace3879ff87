// What is known to have gone wrong with an operator on Macs: PyTorch's own tests that expect it to fail
// (gpu/history/known_failures.h), and tensors that are not contiguous (gpu/history/contiguity_history.h).
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "gpu/history/contiguity_history.h"
#include "gpu/history/known_failures.h"

namespace at {
struct RecordFunction;
}

namespace anymps::backend::observe {

class OperatorPast {
 public:
  OperatorPast() = default;
  // Of the operator of this name, without namespace and overload, in the release and on the macOS that are simulated.
  OperatorPast(std::string_view name, const at::RecordFunction& function);

  // A call of it.
  void check(const at::RecordFunction& function) const {
    if (!strided_.empty()) check_contiguity(function);
    if (!failures_.empty()) check_failures(function);
  }

 private:
  void check_contiguity(const at::RecordFunction& function) const;
  void check_failures(const at::RecordFunction& function) const;

  std::span<const gpu::history::KnownFailure> failures_;
  const gpu::history::ContiguityHistory* contiguity_ = nullptr;
  std::vector<std::size_t> strided_;  // arguments that it is about
  bool only_gradient_ = false;        // of the argument goes wrong, not the operator's own result
};

}  // namespace anymps::backend::observe
