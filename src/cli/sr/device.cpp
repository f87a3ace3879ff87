#include "cli/sr/device.h"

#include <ATen/Context.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "gpu/history/mac_profile.h"
#include "lab/host/python.h"

namespace anymps::cli::sr {
namespace {

// Beside this program, as the wheel installs both; or in the build's own folders.
std::filesystem::path device_library() {
  const std::filesystem::path folder = lab::host::own_executable().parent_path();
  for (const char* place : {"libanymps.so", "../backend/libanymps.so"}) {
    if (std::filesystem::exists(folder / place)) return folder / place;
  }
  return folder / "libanymps.so";
}

void load_mps() {
#ifndef __APPLE__
  const std::filesystem::path library = device_library();
  if (::dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    throw std::invalid_argument(fmt::format("the mps device cannot be loaded: {}", ::dlerror()));
  }
#endif
  if (!at::hasMPS()) throw std::invalid_argument("this PyTorch has no mps device; --device cpu runs without");
}

}  // namespace

void DeviceChoice::add(CLI::App& verb) {
  verb.add_option("--device", name, "cpu, mps or cuda")->capture_default_str();
  verb.add_option("--mac", mac, "Simulate this Mac, such as m1-8gb (anymps macs lists them)")->type_name("MAC");
}

c10::Device DeviceChoice::open() const {
  if (!mac.empty()) {
    if (name != "mps") throw std::invalid_argument("--mac is for --device mps");
    gpu::history::choose_mac(mac, "");  // refuses what is none
    ::setenv("ANYMPS_MAC", mac.c_str(), /*overwrite=*/1);
  }
  if (name == "mps") {
    load_mps();
    return {c10::kMPS, 0};
  }
  if (name == "cpu") return c10::kCPU;
  if (name == "cuda") {
    if (!at::hasCUDA()) throw std::invalid_argument("this PyTorch has no cuda device; --device cpu runs without");
    return {c10::kCUDA, 0};
  }
  throw std::invalid_argument(fmt::format("`{}` is none of the devices cpu, mps and cuda", name));
}

}  // namespace anymps::cli::sr
