// The device that a verb is to run on.
#pragma once

#include <c10/core/Device.h>

#include <string>

namespace CLI {
class App;
}

namespace anymps::cli::sr {

struct DeviceChoice {
  std::string name = "mps";  // or "cpu", "cuda"
  std::string mac;           // that mps simulates

  // --device and --mac.
  void add(CLI::App& verb);
  // The mps device of anymps is loaded where this PyTorch has none of its own. Throws std::invalid_argument with one
  // line where there is no such device here, or no such Mac.
  c10::Device open() const;
};

}  // namespace anymps::cli::sr
