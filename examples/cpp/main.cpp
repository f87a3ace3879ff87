// The mps device in a C++ program on libtorch: load one shared library, and use the device by name.
//
//   anymps_example PATH/TO/libanymps.so
#include <dlfcn.h>
#include <torch/torch.h>

#include <iostream>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: " << argv[0] << " PATH/TO/libanymps.so\n";
    return 2;
  }
  if (dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    std::cerr << dlerror() << '\n';
    return 1;
  }

  torch::manual_seed(0);
  const torch::Device device("mps");
  torch::nn::Sequential model(torch::nn::Linear(8, 16), torch::nn::ReLU(), torch::nn::Linear(16, 1));
  model->to(device);
  torch::optim::Adam optimizer(model->parameters(), 1e-2);

  const torch::Tensor inputs = torch::randn({64, 8}, device);
  const torch::Tensor targets = inputs.sum(1, /*keepdim=*/true);
  float first = 0;
  float last = 0;
  for (int step = 0; step < 200; ++step) {
    optimizer.zero_grad();
    const torch::Tensor loss = torch::mse_loss(model->forward(inputs), targets);
    loss.backward();
    optimizer.step();
    last = loss.item<float>();
    if (step == 0) first = last;
  }
  std::cout << "device " << inputs.device() << ", loss " << first << " -> " << last << '\n';
  return last < first / 10 ? 0 : 1;
}
