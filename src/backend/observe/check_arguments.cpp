#include "backend/observe/check_arguments.h"

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>

#include <string>
#include <string_view>
#include <unordered_map>

#include "backend/observe/check.h"
#include "backend/observe/check_copies.h"
#include "backend/observe/check_past.h"
#include "backend/observe/check_watch.h"
#include "backend/runtime/argument_tensors.h"

namespace anymps::backend::observe {
namespace {

using Inputs = c10::ArrayRef<const c10::IValue>;

const at::Tensor* tensor_at(Inputs inputs, std::size_t index) {
  if (index >= inputs.size() || !inputs[index].isTensor()) return nullptr;
  const at::Tensor& tensor = inputs[index].toTensor();
  return tensor.defined() ? &tensor : nullptr;
}

const at::Tensor* device_tensor_at(Inputs inputs, std::size_t index) {
  return index < inputs.size() ? runtime::device_tensor(inputs[index]) : nullptr;
}

// Which arguments of an operator are matrices, and whether the rows of the first are a batch, of any size.
struct Matrices {
  std::size_t first;
  std::size_t count;
  bool rows_are_batch;
};

bool is_odd(std::int64_t size) { return size > 1 && size % 8 != 0; }

bool is_half(const at::Tensor& tensor) {
  return tensor.scalar_type() == c10::kHalf || tensor.scalar_type() == c10::kBFloat16;
}

std::string shape_of(const at::Tensor& tensor) {
  std::string text;
  for (const std::int64_t size : tensor.sizes()) text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

void check_sizes(const at::RecordFunction& function, const Matrices& matrices) {
  std::string shapes;
  bool odd = false;
  for (std::size_t i = 0; i < matrices.count; ++i) {
    const at::Tensor* tensor = device_tensor_at(function.inputs(), matrices.first + i);
    if (tensor == nullptr || !is_half(*tensor) || tensor->dim() < 2) return;
    odd |= is_odd(tensor->size(-1)) || ((i != 0 || !matrices.rows_are_batch) && is_odd(tensor->size(-2)));
    shapes += " " + shape_of(*tensor);
  }
  // The operators that this one is made of would say it again.
  static thread_local std::uint64_t told = 0;
  if (!odd || calls_so_far() - told < matrices.count) return;
  told = calls_so_far();
  const at::Tensor& first = function.inputs()[matrices.first].toTensor();
  note_finding("half-size-not-8", function.name() + shapes + " " + c10::toString(first.scalar_type()));
}

// What else is looked at, operator by operator.
enum class Look {
  kNothing,
  kMatrices,
  kConversion,
};

struct Shape {
  Look look = Look::kNothing;
  Matrices matrices{};
};

Shape shape_of_interest(std::string_view name) {
  if (name == "mm" || name == "bmm") return {Look::kMatrices, {0, 2, false}};
  if (name == "addmm" || name == "baddbmm") return {Look::kMatrices, {1, 2, false}};
  if (name == "linear") return {Look::kMatrices, {0, 2, true}};
  if (name == "scaled_dot_product_attention") return {Look::kMatrices, {0, 3, false}};
  if (name == "_to_copy") return {Look::kConversion, {}};
  return {};
}

struct Interest {
  Shape shape;
  OperatorPast past;
};

Interest interest_in(const at::RecordFunction& function) {
  std::string_view name = function.name();
  if (!name.starts_with("aten::")) return {};
  name.remove_prefix(std::string_view("aten::").size());
  return {shape_of_interest(name), OperatorPast(name, function)};
}

// Names are those of PyTorch's schemas, which stay where they are, one for each overload.
const Interest& interest_of(const at::RecordFunction& function) {
  static thread_local std::unordered_map<const char*, Interest> known;
  const auto [found, is_new] = known.try_emplace(function.name());
  if (is_new) found->second = interest_in(function);
  return found->second;
}

void note_conversion(Inputs inputs) {
  const at::Tensor* from = tensor_at(inputs, 0);
  if (from == nullptr || !from->is_cpu() || inputs.size() < 2 || !inputs[1].isInt()) return;
  const c10::ScalarType to = inputs[1].toScalarType();
  const bool narrows = (from->scalar_type() == c10::kDouble && to == c10::kFloat) ||
                       (from->scalar_type() == c10::kComplexDouble && to == c10::kComplexFloat);
  if (narrows) note_narrowing(from->numel());
}

}  // namespace

void check_arguments(const at::RecordFunction& function) {
  const Interest& interest = interest_of(function);
  const Inputs inputs = function.inputs();
  interest.past.check(function);
  switch (interest.shape.look) {
    case Look::kNothing:
      break;
    case Look::kMatrices:
      check_sizes(function, interest.shape.matrices);
      break;
    case Look::kConversion:
      note_conversion(inputs);
      break;
  }
}

}  // namespace anymps::backend::observe
