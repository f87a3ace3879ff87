#include "backend/dispatch/elementwise_chain.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/TensorIterator.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "backend/dispatch/tensor_access.h"
#include "backend/runtime/memory.h"
#include "gpu/executor.h"
#include "gpu/memory/heap.h"

namespace anymps::backend::dispatch {
namespace {

// Operators by their names and overloads, and the overload with `out` of those that are not in place. Kernels by MKL's
// vector functions (exp, tanh, ...) are not here: what they compute depends on the place.
struct Row {
  std::string_view name;
  std::string_view overload;
  const char* out;
};
constexpr Row kRows[] = {
    {"add", "Tensor", "out"},         {"sub", "Tensor", "out"}, {"mul", "Tensor", "out"},
    {"div", "Tensor", "out"},         {"neg", "", "out"},       {"sqrt", "", "out"},
    {"addcmul", "", "out"},           {"addcdiv", "", "out"},   {"lerp", "Scalar", "Scalar_out"},
    {"lerp", "Tensor", "Tensor_out"},
};

// A multiple of what vectorised kernels do at once: an element is in the rest of a part if it is in the rest of the
// range that an operator by itself is given.
constexpr std::int64_t kPart = 1 << 14;
constexpr std::int64_t kWidest = 4;  // bytes of an element

bool is_taken(at::ScalarType type) { return type == at::kFloat || type == at::kHalf || type == at::kBFloat16; }

const std::byte* begin_of(const at::Tensor& tensor) { return static_cast<const std::byte*>(tensor.const_data_ptr()); }
const std::byte* end_of(const at::Tensor& tensor) { return begin_of(tensor) + tensor.nbytes(); }

bool are_apart(const at::Tensor& one, const at::Tensor& other) {
  return end_of(one) <= begin_of(other) || end_of(other) <= begin_of(one);
}

// Whether the tensors, if they share memory, have each element at the same place.
bool are_apart_or_one(const at::Tensor& one, const at::Tensor& other) {
  return are_apart(one, other) || (begin_of(one) == begin_of(other) && one.dtype() == other.dtype());
}

bool can_follow(const ElementwiseStep& step, const ElementwiseStep& before) {
  const auto fits = [](const at::Tensor& written, const ElementwiseStep& other) {
    return std::ranges::all_of(other.tensors(), [&](const at::Tensor& t) { return are_apart_or_one(written, t); }) &&
           std::ranges::all_of(other.numbers(), [&](const at::Tensor& t) { return are_apart(written, t); });
  };
  return step.written().numel() == before.written().numel() && fits(before.written(), step) &&
         fits(step.written(), before);
}

// A tensor's elements as a row, which move_to() moves along.
at::Tensor row_of(const at::Tensor& tensor, c10::Storage storage) {
  return at::Tensor(
      ImplAccess::copy(*tensor.unsafeGetTensorImpl(), std::move(storage), tensor.key_set(), runtime::kCpuDevice));
}

void move_to(const at::Tensor& row, std::int64_t offset, std::int64_t length) {
  const std::array<std::int64_t, 1> sizes{length};
  const std::array<std::int64_t, 1> strides{1};
  row.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides, offset);
}

}  // namespace

std::optional<ElementwiseOperator> ElementwiseOperator::of(const c10::OperatorHandle& op) {
  std::string_view name = op.schema().name();
  name.remove_prefix(std::min(name.size(), std::string_view("aten::").size()));
  const bool in_place = name.ends_with('_');
  if (in_place) name.remove_suffix(1);
  for (const Row& row : kRows) {
    if (row.name != name || row.overload != op.schema().overload_name()) continue;
    if (in_place) return ElementwiseOperator(op, true);
    const std::string full = "aten::" + std::string(name);
    return ElementwiseOperator(c10::Dispatcher::singleton().findSchemaOrThrow(full.c_str(), row.out), false);
  }
  return std::nullopt;
}

ElementwiseStep::ElementwiseStep(const ElementwiseOperator& op, torch::jit::Stack arguments)
    : writer_(op.writer()), arguments_(std::move(arguments)), result_is_new_(!op.is_in_place()) {}

bool ElementwiseStep::add(std::size_t place) {
  const at::Tensor& tensor = arguments_[place].toTensor();
  if (!tensor.defined()) return false;
  const bool is_first = tensors_.empty();
  if (tensor.dim() == 0 && !is_first) {
    numbers_.push_back(tensor);
    return true;
  }
  if (!tensor.is_contiguous() || !is_taken(tensor.scalar_type())) return false;
  if (!is_first && (tensor.sizes() != written().sizes() || tensor.dtype() != written().dtype())) return false;
  places_.push_back(place);
  tensors_.push_back(tensor);
  return true;
}

std::unique_ptr<ElementwiseStep> ElementwiseStep::of(const ElementwiseOperator& op, const torch::jit::Stack& arguments,
                                                     QueuedCall& call) {
  const at::Tensor& written = op.is_in_place() ? arguments.front().toTensor() : call.result_alias(0);
  if (written.numel() < kLeastElements) return nullptr;
  std::unique_ptr<ElementwiseStep> step(new ElementwiseStep(op, arguments));
  const std::size_t count = arguments.size();
  if (!op.is_in_place()) step->arguments_.emplace_back(written);
  if (!step->add(op.is_in_place() ? 0 : count)) return nullptr;
  for (std::size_t i = op.is_in_place() ? 1 : 0; i < count; ++i) {
    if (arguments[i].isTensor() && !step->add(i)) return nullptr;
  }
  step->held_ = call.take_held();
  return step;
}

void ElementwiseStep::run(c10::ArrayRef<at::Tensor> rows) const {
  torch::jit::Stack stack = arguments_;
  for (std::size_t i = 0; i < rows.size(); ++i) stack[places_[i]] = rows[i];
  writer_.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &stack);
}

bool ElementwiseChain::add(std::unique_ptr<ElementwiseStep>& step) {
  if (steps_.size() == kMostSteps) return false;
  if (!std::ranges::all_of(steps_, [&](const auto& before) { return can_follow(*step, *before); })) return false;
  steps_.push_back(std::move(step));
  return true;
}

// A new result whose block is held by this chain alone is wanted by later steps of it alone, if at all.
ElementwiseChain::Plan ElementwiseChain::plan() const {
  struct Use {
    unsigned holders = 0;
    std::size_t last = 0;
  };
  const auto block_of = [](const at::Tensor& tensor) { return tensor.storage().mutable_data(); };
  std::map<void*, Use> uses;
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    c10::SmallVector<void*, 6> blocks;  // each of which the step holds once
    for (const at::Tensor& tensor : steps_[s]->tensors()) blocks.push_back(block_of(tensor));
    for (const at::Tensor& tensor : steps_[s]->numbers()) blocks.push_back(block_of(tensor));
    std::ranges::sort(blocks);
    blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
    for (void* block : blocks) uses[block] = {.holders = uses[block].holders + 1, .last = s};
  }
  Plan plan;
  std::vector<int> unused;
  std::map<void*, int> buffer_of;
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    void* written = block_of(steps_[s]->written());
    if (steps_[s]->result_is_new() && gpu::memory::Heap::holders(written) == uses[written].holders) {
      if (unused.empty()) unused.push_back(plan.count++);
      buffer_of[written] = unused.back();
      unused.pop_back();
    }
    auto& places = plan.buffers.emplace_back();
    for (const at::Tensor& tensor : steps_[s]->tensors()) {
      const auto found = buffer_of.find(block_of(tensor));
      places.push_back(found == buffer_of.end() ? kOwnMemory : found->second);
    }
    std::erase_if(buffer_of, [&](const auto& entry) {
      if (uses[entry.first].last != s) return false;
      unused.push_back(entry.second);
      return true;
    });
  }
  return plan;
}

void ElementwiseChain::run_range(const Plan& plan, std::int64_t begin, std::int64_t end) const {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCPU);
  const at::Tensor room = at::empty({kPart * kWidest * plan.count}, at::kByte);
  std::vector<c10::SmallVector<at::Tensor, 4>> rows(steps_.size());
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    c10::ArrayRef<at::Tensor> tensors = steps_[s]->tensors();
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      rows[s].push_back(row_of(tensors[i], plan.buffers[s][i] == kOwnMemory ? tensors[i].storage() : room.storage()));
    }
  }
  for (std::int64_t first = begin; first < end; first += kPart) {
    const std::int64_t length = std::min(kPart, end - first);
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      for (std::size_t i = 0; i < rows[s].size(); ++i) {
        const at::Tensor& tensor = steps_[s]->tensors()[i];
        const int buffer = plan.buffers[s][i];
        const std::int64_t elements_of_one = kPart * kWidest / static_cast<std::int64_t>(tensor.element_size());
        move_to(rows[s][i], buffer == kOwnMemory ? tensor.storage_offset() + first : elements_of_one * buffer, length);
      }
      steps_[s]->run(rows[s]);
    }
  }
}

void ElementwiseChain::run() {
  if (steps_.size() == 1) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCPU);
    return steps_.front()->run(steps_.front()->tensors());
  }
  const Plan plan = this->plan();
  // The ranges that an operator's own iterator gives to each thread.
  gpu::executor().parallel_for(static_cast<std::size_t>(steps_.front()->written().numel()), at::internal::GRAIN_SIZE,
                               [&](std::size_t begin, std::size_t end) {
                                 run_range(plan, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end));
                               });
}

void queue_step(std::size_t bytes, std::unique_ptr<ElementwiseStep> step) {
  runtime::DeviceQueue::chain(bytes, [&](runtime::QueuedChain* open) -> std::unique_ptr<runtime::QueuedChain> {
    // This alone makes chains.
    auto* chain = static_cast<ElementwiseChain*>(open);
    if (chain != nullptr && chain->add(step)) return nullptr;
    return std::make_unique<ElementwiseChain>(std::move(step));
  });
}

}  // namespace anymps::backend::dispatch
