#include "metal/abi/tensor_layout.h"

#include "gpu/device.h"

namespace anymps::metal::abi {

FragmentOrder fragment_order() {
  constexpr unsigned kFirstWithQuads = 10;
  static const FragmentOrder order =
      gpu::device_facts().gpu_family >= kFirstWithQuads ? FragmentOrder::kQuads : FragmentOrder::kPairs;
  return order;
}

}  // namespace anymps::metal::abi
