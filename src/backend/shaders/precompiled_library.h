// Compiled libraries as PyTorch's class for them, which it has from 2.13 on: with older releases, ours by the same name
// serves anymps.load_metallib.
#pragma once

#include <ATen/native/mps/MetalShaderLibrary.h>

#include "backend/release/torch_release.h"

#if !ANYMPS_LIBRARIES_KNOW_THEIR_FUNCTIONS
#include <cstdint>
#include <string>
#include <vector>

namespace at::native::mps {

class PrecompiledMetalShaderLibrary : public MetalShaderLibrary {
 public:
  explicit PrecompiledMetalShaderLibrary(std::vector<uint8_t> data);
  explicit PrecompiledMetalShaderLibrary(const std::string& path);
  ~PrecompiledMetalShaderLibrary() override;
};

}  // namespace at::native::mps
#endif
