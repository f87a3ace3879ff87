// LSTM: one operator with a gradient of its own on MPS. The CPU's LSTM runs over aliases with autograd on, and the
// graph that it leaves is kept for the backward call in one of the tensors that the operator returns for that purpose.
#include <ATen/ATen.h>
#include <ATen/NativeFunctions.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/library.h>

#include <memory>
#include <tuple>
#include <vector>

#include "backend/dispatch/cpu_call.h"
#include "backend/ops/registration.h"

namespace anymps::backend::ops {
namespace {

using Tensors = std::vector<at::Tensor>;
using SixTensors = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

// Kernels of a device run with autograd shut off; this opens it again for the CPU tensors inside.
class WithAutograd {
 public:
  WithAutograd()
      : guard_(c10::impl::tls_local_dispatch_key_set().included_,
               c10::impl::tls_local_dispatch_key_set().excluded_ - c10::autograd_dispatch_keyset_with_ADInplaceOrView) {
  }

 private:
  c10::impl::ForceDispatchKeyGuard guard_;
};

struct CpuGraph {
  Tensors leaves;       // input, hx, cx, parameters
  Tensors results;      // output, hy, cy
  c10::DataPtr buffer;  // what the tensor that carries the graph points to
};

// The graph travels as the owner of a buffer of one byte, and so lives as long as autograd keeps that tensor.
at::Tensor wrap(std::unique_ptr<CpuGraph> graph) {
  graph->buffer = runtime::mps_allocator()->allocate(1);
  void* data = graph->buffer.get();
  c10::DataPtr pointer(
      data, graph.release(), [](void* context) { delete static_cast<CpuGraph*>(context); }, runtime::kMpsDevice);
  auto storage = c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), 1, std::move(pointer),
                                                       runtime::mps_allocator(), /*resizable=*/false);
  at::Tensor result = at::empty({0}, at::TensorOptions(at::kByte).device(runtime::kMpsDevice));
  result.set_(c10::Storage(std::move(storage)), 0, {1}, {1});
  return result;
}

CpuGraph& unwrap(const at::Tensor& tensor) {
  return *static_cast<CpuGraph*>(tensor.storage().unsafeGetStorageImpl()->mutable_data_ptr().get_context());
}

at::Tensor leaf(const at::Tensor& tensor) {
  // Owning: the graph may outlive the caller's hold on the memory.
  at::Tensor alias = dispatch::owning_cpu_alias(tensor);
  if (at::GradMode::is_enabled() && tensor.requires_grad()) alias.requires_grad_();
  return alias;
}

SixTensors lstm_mps(const at::Tensor& input, at::TensorList hidden, at::TensorList parameters, bool biases,
                    std::int64_t layers, double dropout, bool train, bool bidirectional, bool batch_first) {
  auto graph = std::make_unique<CpuGraph>();
  graph->leaves.push_back(leaf(input));
  for (const at::Tensor& tensor : hidden) graph->leaves.push_back(leaf(tensor));
  for (const at::Tensor& tensor : parameters) graph->leaves.push_back(leaf(tensor));
  const at::TensorList leaves(graph->leaves);
  {
    runtime::RouteScope route;
    // What the graph keeps for the gradient, a Mac keeps in tensors that the operator returns.
    runtime::RouteScope::AsTensors as_tensors;
    WithAutograd autograd;
    c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCPU);
    auto [output, hy, cy] = at::lstm(leaves[0], leaves.slice(1, hidden.size()), leaves.slice(1 + hidden.size()), biases,
                                     layers, dropout, train, bidirectional, batch_first);
    graph->results = {output, hy, cy};
  }
  dispatch::AliasCall alias;
  // The graph goes on holding the CPU's view of the results, so the device gets them under a second TensorImpl.
  auto result = [&](std::size_t i) { return alias.to_mps(graph->results[i].detach()); };
  at::Tensor output = result(0);
  at::Tensor hy = result(1);
  at::Tensor cy = result(2);
  const at::Tensor none = at::empty({0}, input.options());
  return {output, hy, cy, wrap(std::move(graph)), none, none};
}

std::tuple<at::Tensor, Tensors, Tensors> lstm_mps_backward(
    const std::optional<at::Tensor>& grad_output, const std::optional<at::Tensor>& grad_hy,
    const std::optional<at::Tensor>& grad_cy, const at::Tensor& state, const at::Tensor&, const at::Tensor&,
    const at::Tensor&, at::TensorList hidden, at::TensorList, bool, std::int64_t, double, bool, bool, bool) {
  const CpuGraph& graph = unwrap(state);
  dispatch::CpuCall cpu;
  torch::autograd::variable_list roots;
  torch::autograd::variable_list gradients;
  const std::optional<at::Tensor> given[] = {grad_output, grad_hy, grad_cy};
  for (std::size_t i = 0; i < graph.results.size(); ++i) {
    if (!given[i] || !given[i]->defined() || !graph.results[i].requires_grad()) continue;
    roots.push_back(graph.results[i]);
    gradients.push_back(cpu(*given[i]));
  }
  torch::autograd::variable_list wanted;
  for (const at::Tensor& tensor : graph.leaves) {
    if (tensor.requires_grad()) wanted.push_back(tensor);
  }
  torch::autograd::variable_list found;
  {
    WithAutograd autograd;
    found = torch::autograd::grad(roots, wanted, gradients, /*retain_graph=*/true, /*create_graph=*/false,
                                  /*allow_unused=*/true);
  }
  std::size_t next = 0;
  Tensors all;
  for (const at::Tensor& tensor : graph.leaves) {
    at::Tensor gradient = tensor.requires_grad() ? found[next++] : at::Tensor();
    // A dispatch mode in Python cannot take lists with holes, so what nothing depends on gets a gradient of zero.
    if (!gradient.defined()) gradient = at::zeros_like(tensor);
    all.push_back(cpu.back(gradient.detach()));
  }
  const auto first_parameter = all.begin() + 1 + static_cast<std::ptrdiff_t>(hidden.size());
  return {all[0], Tensors(all.begin() + 1, first_parameter), Tensors(first_parameter, all.end())};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> lstm(const at::Tensor& input, at::TensorList hidden,
                                                    at::TensorList parameters, bool biases, std::int64_t layers,
                                                    double dropout, bool train, bool bidirectional, bool batch_first) {
  TORCH_CHECK(hidden.size() == 2, "lstm expects two hidden states");
  TORCH_CHECK(hidden[0].size(2) == hidden[1].size(2), "LSTM with projections is not currently supported with MPS.");
  if (dropout > 0.0 && train && layers > 1) {
    // Composed of the device's operators, so that its own generator makes the dropout.
    return at::native::lstm(input, hidden, parameters, biases, layers, dropout, train, bidirectional, batch_first);
  }
  auto results = at::_lstm_mps(input, hidden, parameters, biases, layers, dropout, train, bidirectional, batch_first);
  return {std::get<0>(results), std::get<1>(results), std::get<2>(results)};
}

}  // namespace

void register_recurrent(torch::Library& m) {
  m.impl("_lstm_mps", lstm_mps);
  m.impl("lstm_mps_backward", lstm_mps_backward);
  m.impl("lstm.input", lstm);
}

void register_composite_recurrent(torch::Library& autograd) {
  // At the autograd key too, or autograd would take the operator for one without a gradient.
  autograd.impl("lstm.input", lstm);
}

}  // namespace anymps::backend::ops
