// A model that AOTInductor compiled for the mps device (torch._inductor.aoti_compile_and_package), in a program without
// Python: runs it on numbers from -1 to 1 and prints what comes out, a tensor a line.
//
//   anymps_package PATH/TO/libanymps.so MODEL.pt2 ROWS COLUMNS
#include <dlfcn.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/torch.h>

#include <iostream>
#include <string>

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: " << argv[0] << " PATH/TO/libanymps.so MODEL.pt2 ROWS COLUMNS\n";
    return 2;
  }
  // Before the package: its code finds the device's functions in what has been loaded globally.
  if (dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    std::cerr << dlerror() << '\n';
    return 1;
  }

  const c10::InferenceMode no_gradients;
  torch::inductor::AOTIModelPackageLoader model(argv[2]);
  const long rows = std::stol(argv[3]);
  const long columns = std::stol(argv[4]);
  const torch::Tensor input = torch::linspace(-1, 1, rows * columns, torch::kMPS).reshape({rows, columns});
  for (const torch::Tensor& output : model.run({input})) {
    const torch::Tensor values = output.cpu().contiguous();
    std::cout << output.device();
    for (int64_t i = 0; i < values.numel(); ++i) std::cout << ' ' << values.data_ptr<float>()[i];
    std::cout << '\n';
  }
}
