// PYTORCH_MPS_LOG_PROFILE_INFO: a line on standard error for each operator, copy or fallback, and tables of them when
// the process ends. The bits of its value and the lines are those of PyTorch's MPS profiler.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <string_view>

namespace anymps::backend::observe {

enum class ProfileLog : unsigned {
  kOperations = 1u << 0,
  kCopies = 1u << 1,
  kFallbacks = 1u << 2,
  kAllTables = 1u << 3,
  kOperationTable = 1u << 4,
  kCopyTable = 1u << 5,
  kFallbackTable = 1u << 6,
  kTimes = 1u << 7,  // in the lines
};

// Begins it, for the rest of the process; nothing where no bit is set. The tables are printed by end_profile_log().
void begin_profile_log(unsigned bits);
void end_profile_log();

// One load where nothing is logged.
bool profile_logging() noexcept;

// The operator that this thread is in ran on the device for so long; it was copied; it went to the CPU.
void profile_operation(std::uint64_t ns);
void profile_copy(const at::Tensor& target, const at::Tensor& source, bool non_blocking, std::uint64_t ns);
void profile_fallback(std::string_view name, c10::ArrayRef<c10::IValue> arguments, std::uint64_t ns);

}  // namespace anymps::backend::observe
