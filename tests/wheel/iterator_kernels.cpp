// PyTorch's helpers that launch kernels over an iterator, called as an extension calls them: test_extensions.py
#include <ATen/TensorIterator.h>
#include <ATen/native/mps/MetalShaderLibrary.h>
#include <torch/library.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace {

using Library = at::native::mps::MetalShaderLibrary;

std::unique_ptr<Library>& library() {
  static std::unique_ptr<Library> made;
  return made;
}

void set_source(std::string source) { library() = std::make_unique<Library>(std::move(source)); }

at::TensorIterator over(const at::Tensor& out, const at::TensorList& inputs) {
  at::TensorIteratorConfig config;
  config.add_output(out);
  for (const at::Tensor& input : inputs) config.add_input(input);
  config.promote_inputs_to_common_dtype(inputs.size() > 1).cast_common_dtype_to_outputs(inputs.size() > 1);
  config.check_all_same_dtype(false).allow_cpu_scalars(true);
  return config.build();
}

// By how many inputs there are.
void execute(const std::string& name, const at::Tensor& out, const at::TensorList inputs,
             std::optional<at::Scalar> alpha) {
  at::TensorIterator iterator = over(out, inputs);
  switch (inputs.size()) {
    case 1:
      return library()->exec_unary_kernel(iterator, name, alpha);
    case 2:
      return library()->exec_binary_kernel(iterator, name, alpha);
    default:
      return library()->exec_ternary_kernel(iterator, name);
  }
}

}  // namespace

TORCH_LIBRARY(iterator_kernels, library) {
  library.def("set_source(str source) -> ()", [](std::string source) { set_source(std::move(source)); });
  library.def("execute(str name, Tensor out, Tensor[] inputs, Scalar? alpha) -> ()",
              [](const std::string& name, const at::Tensor& out, const std::vector<at::Tensor>& inputs,
                 const std::optional<at::Scalar>& alpha) { execute(name, out, inputs, alpha); });
}
