#include "backend/dispatch/widening.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

namespace anymps::backend::dispatch {

using c10::ScalarType;

enum class When { kMissing, kAlways };

struct OperatorWidening {
  std::string_view name;
  std::uint64_t dtypes;
  ScalarType wide;
  When when;
};

namespace {

constexpr std::uint64_t kBools = dtype_bit(c10::kBool);
constexpr std::uint64_t kHalves = dtype_bit(c10::kHalf) | dtype_bit(c10::kBFloat16);
constexpr std::uint64_t kIntegers = dtype_bit(c10::kByte) | dtype_bit(c10::kChar) | dtype_bit(c10::kShort) |
                                    dtype_bit(c10::kInt) | dtype_bit(c10::kLong);

// Operators that the usual way does not serve.
constexpr OperatorWidening kOperators[] = {
    // The CPU has kernels for floating types only, a Mac for more.
    {"avg_pool3d", kBools, c10::kFloat, When::kMissing},
    {"bernoulli", kBools, c10::kFloat, When::kMissing},
    {"bernoulli_", kBools, c10::kFloat, When::kMissing},
    {"histc", kIntegers, c10::kFloat, When::kMissing},
    {"silu", kBools, c10::kFloat, When::kMissing},
    // And where windows overlap, the CPU's kernel sums halves in half.
    {"max_pool2d_with_indices_backward", kBools | kHalves, c10::kFloat, When::kAlways},
    // The total weight may come in float32 beside them, which the CPU's kernel does not take.
    {"nll_loss_backward", kHalves, c10::kFloat, When::kAlways},
    // Metal computes these in float32 and rounds once; the CPU's kernels round at each step, and are much slower.
    {"grid_sampler_2d", kHalves, c10::kFloat, When::kAlways},
    {"grid_sampler_2d_backward", kHalves, c10::kFloat, When::kAlways},
    {"grid_sampler_3d", kHalves, c10::kFloat, When::kAlways},
    {"grid_sampler_3d_backward", kHalves, c10::kFloat, When::kAlways},
};

ScalarType usual_wider(ScalarType dtype) {
  switch (dtype) {
    case c10::kHalf:
    case c10::kBFloat16:
      return c10::kFloat;
    case c10::kComplexHalf:
      return c10::kComplexFloat;
    case c10::kBool:
      return c10::kByte;
    case c10::kByte:
    case c10::kChar:
    case c10::kShort:
    case c10::kUInt16:
    case c10::kUInt32:
      return c10::kLong;
    default:
      return dtype;
  }
}

constexpr std::uint64_t kUsual = kHalves | kBools | dtype_bit(c10::kComplexHalf) | dtype_bit(c10::kByte) |
                                 dtype_bit(c10::kChar) | dtype_bit(c10::kShort) | dtype_bit(c10::kUInt16) |
                                 dtype_bit(c10::kUInt32);

class WidenedCall {
 public:
  explicit WidenedCall(const Widening& widening) : widening_(widening) {}

  at::Tensor widen(const at::Tensor& tensor, bool written) {
    if (!tensor.defined() || tensor.layout() != at::kStrided) return tensor;
    const ScalarType narrow = tensor.scalar_type();
    const ScalarType wide = widening_.wider(narrow);
    if (wide == narrow) return tensor;
    // Double results of a widened call would otherwise look like a request for double.
    narrow_ = narrow;
    at::Tensor result = tensor.to(wide);
    if (written) written_.emplace_back(tensor, result);
    return result;
  }

  void widen_dtype(c10::IValue& value) {
    const auto narrow = static_cast<ScalarType>(value.toInt());
    const ScalarType wide = widening_.wider(narrow);
    if (wide == narrow) return;
    narrow_ = narrow;
    value = static_cast<std::int64_t>(wide);
  }

  at::Tensor narrow(const at::Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    for (auto& [original, wide] : written_) {
      if (wide.is_same(tensor)) return original;
    }
    if (narrow_ && tensor.layout() == at::kStrided && tensor.scalar_type() == widening_.wider(*narrow_))
      return tensor.to(*narrow_);
    return tensor;
  }

  void write_back() {
    for (auto& [original, wide] : written_) {
      if (original.sizes() != wide.sizes()) original.resize_(wide.sizes());
      original.copy_(wide);
    }
  }

 private:
  const Widening& widening_;
  std::optional<ScalarType> narrow_;
  std::vector<std::pair<at::Tensor, at::Tensor>> written_;
};

}  // namespace

ScalarType Widening::wider(ScalarType dtype) const {
  return own_ != nullptr && (own_->dtypes & dtype_bit(dtype)) != 0 ? own_->wide : usual_wider(dtype);
}

Widening::Widening(std::string_view name) {
  const auto* own = std::ranges::find(kOperators, name, &OperatorWidening::name);
  if (own != std::end(kOperators)) own_ = own;
  candidates_ = kUsual | (own_ != nullptr ? own_->dtypes : 0);
  if (own_ != nullptr && own_->when == When::kAlways) always_ = own_->dtypes;
}

void call_widened(const c10::OperatorHandle& op, const Widening& widening, torch::jit::Stack* stack) {
  const c10::FunctionSchema& schema = op.schema();
  const std::size_t begin = stack->size() - schema.arguments().size();
  WidenedCall call(widening);
  for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    const bool written = argument.alias_info() != nullptr && argument.alias_info()->isWrite();
    c10::IValue& value = (*stack)[begin + i];
    if (value.isTensor()) {
      value = call.widen(value.toTensor(), written);
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> wide;
      for (const at::Tensor& tensor : value.toTensorVector()) wide.push_back(call.widen(tensor, written));
      value = std::move(wide);
    } else if (value.isInt() && argument.name() == "dtype") {
      call.widen_dtype(value);
    }
  }
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  call.write_back();
  const std::size_t first_result = stack->size() - schema.returns().size();
  for (std::size_t i = first_result; i < stack->size(); ++i) {
    c10::IValue& value = (*stack)[i];
    if (value.isTensor()) {
      value = call.narrow(value.toTensor());
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> narrow;
      for (const at::Tensor& tensor : value.toTensorVector()) narrow.push_back(call.narrow(tensor));
      value = std::move(narrow);
    }
  }
}

}  // namespace anymps::backend::dispatch
