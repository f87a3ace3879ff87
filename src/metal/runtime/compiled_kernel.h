// A kernel as an object file for this CPU, with what is needed to run it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "metal/abi/cooperative_op.h"
#include "metal/abi/route.h"
#include "metal/lower/transform/sanitiser.h"
#include "metal/lower/transform/threadgroup_variables.h"

namespace anymps::metal::runtime {

struct CompiledKernel {
  abi::Route route = abi::Route::kThreadLoop;
  bool cooperative = false;  // as in lower::Lowered
  std::string not_vectorized;
  lower::transform::ThreadgroupLayout threadgroup;
  std::vector<abi::CooperativeCall> points;
  lower::transform::ValidationTable validation;
  std::vector<std::byte> object;
};

}  // namespace anymps::metal::runtime
