#include "backend/observe/check_past.h"

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>

#include <string>

#include "backend/observe/check.h"
#include "backend/release/release_in_force.h"
#include "backend/runtime/argument_tensors.h"
#include "gpu/device.h"
#include "gpu/history/operator_history.h"

namespace anymps::backend::observe {
namespace {

gpu::history::MacosVersion checked_macos() {
  const gpu::DeviceFacts& facts = gpu::device_facts();
  return {facts.macos_major, facts.macos_minor};
}

bool is_written(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

std::vector<std::size_t> arguments_of(const gpu::history::ContiguityHistory& history,
                                      const c10::FunctionSchema& schema) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    const bool is_output = history.argument == gpu::history::StridedArgument::kOutput;
    const bool named = history.argument_name.empty() || history.argument_name == argument.name();
    if (named && is_written(argument) == is_output) indices.push_back(i);
  }
  return indices;
}

bool goes_wrong(const at::Tensor& tensor, gpu::history::StridedLayout layout) {
  if (tensor.layout() != c10::kStrided || tensor.is_contiguous()) return false;
  const bool channels_last = tensor.dim() == 4 && tensor.is_contiguous(at::MemoryFormat::ChannelsLast);
  switch (layout) {
    case gpu::history::StridedLayout::kAny:
      return true;
    case gpu::history::StridedLayout::kChannelsLast:
      return channels_last;
    case gpu::history::StridedLayout::kNotChannelsLast:
      return !channels_last;
  }
  return false;
}

}  // namespace

OperatorPast::OperatorPast(std::string_view name, const at::RecordFunction& function) {
  failures_ = gpu::history::known_failures(release::release_in_force(), name);
  contiguity_ = gpu::history::contiguity_history(name, release::release_in_force());
  if (contiguity_ == nullptr || !contiguity_->concerns(checked_macos())) return;
  only_gradient_ = !name.ends_with("_backward") && contiguity_->fault.find("gradient") != std::string_view::npos;
  if (const auto schema = function.operator_schema()) strided_ = arguments_of(*contiguity_, *schema);
}

void OperatorPast::check_contiguity(const at::RecordFunction& function) const {
  for (const std::size_t index : strided_) {
    const at::Tensor* tensor = runtime::device_tensor(function.inputs()[index]);
    if (tensor == nullptr || !goes_wrong(*tensor, contiguity_->layout)) continue;
    if (only_gradient_ && !(tensor->requires_grad() && at::GradMode::is_enabled())) continue;
    return note_finding("noncontiguous-input", function.name() + (": " + std::string(contiguity_->fault)) +
                                                   " (pytorch issue " + std::to_string(contiguity_->issue) + ")");
  }
}

void OperatorPast::check_failures(const at::RecordFunction& function) const {
  const at::Tensor* tensor = nullptr;
  for (std::size_t i = 0; i < function.inputs().size() && tensor == nullptr; ++i) {
    tensor = runtime::device_tensor(function.inputs()[i]);
  }
  if (tensor == nullptr) return;
  const std::string dtype(c10::getDtypeNames(tensor->scalar_type()).first);
  for (const gpu::history::KnownFailure& failure : failures_) {
    // Neither number is wrong in the one, and nobody knows in the other.
    if (failure.outcome == gpu::history::FailureOutcome::kUndefined ||
        failure.outcome == gpu::history::FailureOutcome::kUntested) {
      continue;
    }
    if (!failure.concerns(dtype) || !failure.concerns(checked_macos())) continue;
    const bool backward = failure.pass == gpu::history::FailurePass::kBackward;
    if (backward && !(tensor->requires_grad() && at::GradMode::is_enabled())) continue;
    std::string text = std::string(function.name()) + (backward ? ", its gradient, " : " ") + dtype + " " +
                       std::string(gpu::history::to_text(failure.outcome));
    if (!failure.reason.empty()) text += ": " + std::string(failure.reason);
    return note_finding("known-mac-failure", text);
  }
}

}  // namespace anymps::backend::observe
