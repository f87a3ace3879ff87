// Errors that a GPU finds while a kernel runs: the host learns of them when it next waits (AcceleratorError). The CPU's
// kernels throw at once, so for these operators the throw is kept for later and a result of the right shape returned.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/dispatch/alias_kernel.h"
#include "backend/dispatch/cpu_call.h"
#include "backend/dispatch/queued_function.h"
#include "backend/ops/registration.h"
#include "backend/release/torch_release.h"
#include "backend/runtime/argument_tensors.h"
#include "backend/runtime/device_errors.h"

namespace anymps::backend::ops {
namespace {

enum class Family { kGather, kScatter, kIndex, kIndexPut, kIndexSelect, kIndexAdd, kEmbeddingBag, kEmbeddingBackward };

struct DeferredOperator {
  const char* name;
  Family family;
};

constexpr DeferredOperator kDeferred[] = {
    {"gather", Family::kGather},
    {"gather.out", Family::kGather},
    {"scatter.src", Family::kScatter},
    {"scatter.src_out", Family::kScatter},
    {"scatter_.src", Family::kScatter},
    {"scatter.value", Family::kScatter},
    {"scatter.value_out", Family::kScatter},
    {"scatter_.value", Family::kScatter},
    {"scatter.reduce", Family::kScatter},
    {"scatter.reduce_out", Family::kScatter},
    {"scatter_.reduce", Family::kScatter},
    {"scatter.value_reduce", Family::kScatter},
    {"scatter.value_reduce_out", Family::kScatter},
    {"scatter_.value_reduce", Family::kScatter},
    {"scatter_add", Family::kScatter},
    {"scatter_add.out", Family::kScatter},
    {"scatter_add_", Family::kScatter},
    {"scatter_reduce.two", Family::kScatter},
    {"scatter_reduce.two_out", Family::kScatter},
    {"scatter_reduce_.two", Family::kScatter},
    {"index.Tensor", Family::kIndex},
    {"index.Tensor_out", Family::kIndex},
    {"_index_put_impl_", Family::kIndexPut},
    {"index_select", Family::kIndexSelect},  // which embedding calls
    {"index_select.out", Family::kIndexSelect},
#if ANYMPS_DEVICE_CHECKS_INDICES
    {"index_add", Family::kIndexAdd},
    {"index_add.out", Family::kIndexAdd},
    {"index_add_", Family::kIndexAdd},
#endif
    {"_embedding_bag", Family::kEmbeddingBag},
    {"_embedding_bag_forward_only", Family::kEmbeddingBag},
    {"embedding_dense_backward", Family::kEmbeddingBackward},
};

bool is_iterated(Family family) { return family == Family::kIndex || family == Family::kIndexPut; }

// Of an index among the values of a tensor. Dimensions are checked by the host, before the device gets anything.
bool is_out_of_bounds(const c10::Error& error) {
  const std::string_view text = error.what_without_backtrace();
  if (text.starts_with("Dimension")) return false;
  return text.find("out of bounds") != std::string_view::npos || text.find("out of range") != std::string_view::npos ||
         text.find("num_embeddings") != std::string_view::npos || text.find("valid range") != std::string_view::npos;
}

struct BadIndex {
  std::int64_t position;
  std::int64_t index;
};

// The first index that is none of `rows`.
std::optional<BadIndex> bad_index(const at::Tensor& given, std::int64_t rows) {
  const at::Tensor indices = given.to(at::kCPU, at::kLong).contiguous();
  for (std::int64_t i = 0; i < indices.numel(); ++i) {
    const std::int64_t index = indices.const_data_ptr<std::int64_t>()[i];
    if (index < 0 || index >= rows) return BadIndex{i, index};
  }
  return std::nullopt;
}

// As embedding_bag's kernel says it.
std::string text_by_position(const BadIndex& bad, std::int64_t rows) {
  return c10::str("Index ", bad.position, " is out of bounds: ", bad.index, ", range 0 to ", rows);
}

// As the check in front of index_select and index_add does, where a release has one; others say nothing on a Mac.
std::string text_of_selection(const BadIndex& bad, std::int64_t rows) {
#if ANYMPS_DEVICE_CHECKS_INDICES
  return c10::str("index ", bad.index, " is out of bounds for dimension with size ", rows);
#else
  return text_by_position(bad, rows);
#endif
}

at::Tensor in_range(const at::Tensor& indices, std::int64_t rows) {
  return indices.clamp(0, std::max<std::int64_t>(rows - 1, 0));
}

#if ANYMPS_DEVICE_CHECKS_OFFSETS
constexpr bool kChecksOffsets = true;
#else
constexpr bool kChecksOffsets = false;
#endif

// What the CPU's embedding_bag says of offsets: in front of the kernel, and inside.
bool is_of_offsets(const c10::Error& error) {
  const std::string_view text = error.what_without_backtrace();
  return text.find("offsets[") != std::string_view::npos || text.find("i < index_size") != std::string_view::npos;
}

// Of the first bag that does not lie within the indices, as embedding_bag's kernel says it. That begins the first bag
// at zero and ends the last one with the indices, and counts in 32 bits.
std::optional<std::string> text_of_bad_bag(const std::vector<c10::IValue>& arguments) {
  const at::Tensor offsets = arguments[2].toTensor().to(at::kCPU, at::kLong).contiguous();
  const auto count = static_cast<std::uint32_t>(arguments[1].toTensor().numel());
  const std::int64_t bags = offsets.numel() - (arguments[7].toBool() ? 1 : 0);
  const auto* offset = offsets.const_data_ptr<std::int64_t>();
  for (std::int64_t bag = 0; bag < bags; ++bag) {
    const std::uint32_t start = bag == 0 ? 0 : static_cast<std::uint32_t>(offset[bag]);
    const std::uint32_t end = bag + 1 == bags ? count : static_cast<std::uint32_t>(offset[bag + 1]);
    if (end <= count && start <= end) continue;
    return c10::str("Invalid offsets in embedding_bag: bag ", bag, " spans [", start, ", ", end,
                    ") but num_indices is ", count);
  }
  return std::nullopt;
}

// Offsets that the CPU's kernel takes.
at::Tensor in_order(const at::Tensor& offsets, std::int64_t count) {
  at::Tensor ordered = offsets.to(at::kCPU).clamp(0, count);
  if (ordered.numel() > 0) ordered[0] = 0;
  return std::get<0>(ordered.cummax(0)).to(offsets.device());
}

// How many there are to select from by index_select(self, dim, index), or to add to by index_add.
std::int64_t selected_rows(const std::vector<c10::IValue>& arguments) {
  const at::Tensor self = arguments[0].toTensor();
  return self.dim() > 0 ? self.size(arguments[1].toInt()) : 1;
}

class DeferredErrorKernel final : public dispatch::AliasKernel {
 public:
  explicit DeferredErrorKernel(Family family)
      : AliasKernel(dispatch::AliasTarget::kCpuKernel,
                    is_iterated(family) ? dispatch::DeviceCheck::kIterator : dispatch::DeviceCheck::kPlaceholder),
        family_(family) {}

 protected:
  void compute(const c10::OperatorHandle& op, torch::jit::Stack* stack) override {
    const std::size_t count = op.schema().arguments().size();
    const std::size_t begin = stack->size() - count;
    std::vector<c10::IValue> arguments(stack->begin() + static_cast<std::ptrdiff_t>(begin), stack->end());
    if (family_ == Family::kEmbeddingBackward) keep_in_range(*stack, begin);
    try {
      AliasKernel::compute(op, stack);
    } catch (const c10::Error& error) {
      const bool of_offsets = kChecksOffsets && family_ == Family::kEmbeddingBag && is_of_offsets(error);
      if (!of_offsets && !is_out_of_bounds(error)) throw;
      std::optional<std::string> text = of_offsets ? text_of_bad_bag(arguments) : message(error, arguments);
      stack->resize(begin);
      // Where there is no result of the right shape either, the host itself refuses, as it does on a Mac.
      recover(op, arguments, stack);
      if (text) runtime::report_error({*std::move(text), op.schema().name(), __FILE__, __LINE__, {}});
    }
  }

 private:
  // The CPU's kernel counts how often each index occurs without a look at their range. A forward pass may have left bad
  // ones that the host has not heard of yet.
  static void keep_in_range(torch::jit::Stack& stack, std::size_t begin) {
    const std::int64_t rows = stack[begin + 2].toInt();
    const bool scales_by_frequency = stack[begin + 4].toBool();
    if (scales_by_frequency) stack[begin + 1] = in_range(stack[begin + 1].toTensor(), rows);
  }

  std::string message(const c10::Error& error, const std::vector<c10::IValue>& arguments) const {
    std::string text = error.what_without_backtrace();
    switch (family_) {
      case Family::kGather:
        return "gather: " + text;
      case Family::kScatter:
        return "scatter: " + text;
      case Family::kIndexSelect:
      case Family::kIndexAdd: {
        const std::int64_t rows = selected_rows(arguments);
        const auto bad = bad_index(arguments[2].toTensor(), rows);
        return bad ? text_of_selection(*bad, rows) : text;
      }
      case Family::kEmbeddingBag: {
        const std::int64_t rows = arguments[0].toTensor().size(0);
        const auto bad = bad_index(arguments[1].toTensor(), rows);
        return bad ? text_by_position(*bad, rows) : text;
      }
      default:
        return text;
    }
  }

  // What a GPU leaves where an index was bad is undefined; what counts is the shape, and that nothing else is touched.
  void recover(const c10::OperatorHandle& op, std::vector<c10::IValue>& arguments, torch::jit::Stack* stack) {
    const bool writes = op.schema().returns()[0].alias_info() != nullptr;
    switch (family_) {
      case Family::kGather:
        if (writes) {
          stack->emplace_back(arguments.back());
        } else {
          stack->emplace_back(at::zeros(arguments[2].toTensor().sizes(), arguments[0].toTensor().options()));
        }
        return;
      case Family::kScatter:
        stack->emplace_back(written(op, arguments));
        return;
      case Family::kIndexPut:
        stack->emplace_back(arguments[0]);
        return;
      case Family::kIndexAdd:
        stack->emplace_back(written(op, arguments));
        return;
      case Family::kEmbeddingBackward:
        break;
      case Family::kIndex:
        arguments[1] = clamped(arguments[0].toTensor(), runtime::optional_tensors(arguments[1]).value());
        break;
      case Family::kIndexSelect:
        arguments[2] = in_range(arguments[2].toTensor(), selected_rows(arguments));
        break;
      case Family::kEmbeddingBag:
        arguments[1] = in_range(arguments[1].toTensor(), arguments[0].toTensor().size(0));
        if (kChecksOffsets) arguments[2] = in_order(arguments[2].toTensor(), arguments[1].toTensor().numel());
        break;
    }
    stack->insert(stack->end(), arguments.begin(), arguments.end());
    AliasKernel::compute(op, stack);
  }

  // The tensor that the call writes: the last argument, the first, or a new one.
  static c10::IValue written(const c10::OperatorHandle& op, const std::vector<c10::IValue>& arguments) {
    if (op.schema().returns()[0].alias_info() == nullptr) return arguments[0].toTensor().clone();
    return op.schema().arguments().back().alias_info() != nullptr ? arguments.back() : arguments[0];
  }

  static runtime::OptionalTensors clamped(const at::Tensor& self, const runtime::OptionalTensors& indices) {
    runtime::OptionalTensors result;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      std::optional<at::Tensor> index = indices.get(i);
      if (index && index->defined() && at::isIntegralType(index->scalar_type(), /*includeBool=*/false)) {
        index = in_range(*index, self.size(static_cast<std::int64_t>(i)));
      }
      result.push_back(index);
    }
    return result;
  }

  const Family family_;
};

void assert_async(const at::Tensor& self, std::string message) {
  TORCH_CHECK(self.numel() != 0, "Boolean value of Tensor with no values is ambiguous");
  TORCH_CHECK(self.numel() < 2, "Boolean value of Tensor with more than one value is ambiguous");
  const auto look = [message = std::move(message)](const at::Tensor& given) {
    dispatch::CpuCall cpu;
    if (!cpu(given).is_nonzero()) runtime::report_error({message, "assert_async", __FILE__, __LINE__, {}});
  };
  dispatch::in_turn</*keeps_line=*/true>(look, self);
}

}  // namespace

void register_deferred_errors(torch::Library& m) {
  for (const DeferredOperator& row : kDeferred) {
    m.impl(row.name, torch::CppFunction::makeFromBoxedKernel(
                         c10::BoxedKernel::makeFromFunctor(std::make_unique<DeferredErrorKernel>(row.family))));
  }
  m.impl("_assert_async", [](const at::Tensor& self) { assert_async(self, "Assertion failed"); });
  m.impl("_assert_async.msg",
         [](const at::Tensor& self, std::string_view message) { assert_async(self, std::string(message)); });
}

}  // namespace anymps::backend::ops
