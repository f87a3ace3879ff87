#include "superres/networks/checkpointed.h"

#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <utility>

#include "superres/device/autocast.h"

namespace anymps::superres::networks {
namespace {

using BlockFunction = std::function<at::Tensor(const at::Tensor&)>;

// Autograd keeps what a function saves as an IValue; a capsule of one pointer is how a C++ object gets into one.
struct Kept : torch::CustomClassHolder {
  explicit Kept(BlockFunction block) : block(std::move(block)) {}
  BlockFunction block;
};

struct Again : torch::autograd::Function<Again> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& input,
                            const c10::intrusive_ptr<Kept>& kept) {
    context->save_for_backward({input});
    context->saved_data["block"] = c10::IValue::make_capsule(kept);
    context->saved_data["mixed"] = at::autocast::is_autocast_enabled(input.device().type());
    const at::AutoGradMode without(false);
    return kept->block(input);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const at::AutoGradMode with(true);
    const auto capsule = context->saved_data["block"].toCapsule();
    const auto& block = static_cast<const Kept&>(*capsule).block;
    const at::Tensor input = context->get_saved_variables()[0].detach().requires_grad_(true);
    at::Tensor output;
    {
      const device::Autocast mixed(input.device().type(), context->saved_data["mixed"].toBool());
      output = block(input);
    }
    torch::autograd::backward({output}, {gradients[0]});
    return {input.grad(), at::Tensor()};
  }
};

}  // namespace

at::Tensor checkpointed(const BlockFunction& block, const at::Tensor& input) {
  if (!at::GradMode::is_enabled()) return block(input);
  return Again::apply(input, c10::make_intrusive<Kept>(block));
}

}  // namespace anymps::superres::networks
