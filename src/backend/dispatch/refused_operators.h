// What PyTorch's MPS backend refuses operator by operator, and the CPU's kernels would compute.
// The facts lie in data/refusals.txt and are compiled in.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <c10/util/ArrayRef.h>

#include <vector>

namespace anymps::backend::dispatch {

struct Refusal;

// The refusals of one operator, with its arguments found in its schema. For most operators the list is empty.
class RefusalList {
 public:
  RefusalList() = default;
  // The schema, which the dispatcher owns, must outlive the list.
  explicit RefusalList(const c10::FunctionSchema& schema);

  bool empty() const { return rows_.empty(); }
  // Throws the first refusal that applies. `has_cpu_tensor`: whether any argument is, or has, a tensor of the CPU.
  void check(c10::ArrayRef<c10::IValue> arguments, bool has_cpu_tensor) const;

 private:
  struct Row {
    const Refusal* refusal;
    std::size_t argument;
    bool refused;  // else only the release that is installed refuses it, not the one that is simulated
  };
  std::vector<Row> rows_;
  const c10::FunctionSchema* schema_ = nullptr;
};

}  // namespace anymps::backend::dispatch
