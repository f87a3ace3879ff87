// What a pipeline was made from, kept for another form of the same kernel.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "metal/engine/make_pipeline.h"
#include "metal/pipeline/pipeline.h"

namespace anymps::metal::engine {

struct Source {
  std::string name;
  std::vector<std::byte> bitcode;
  lower::LoweringOptions options;

  Source(const library::FunctionEntry& function, lower::LoweringOptions how)
      : name(function.name), bitcode(function.bitcode.begin(), function.bitcode.end()), options(std::move(how)) {}

  std::shared_ptr<pipeline::Pipeline> pipeline(const lower::LoweringOptions& how) const {
    library::FunctionEntry function;
    function.name = name;
    function.bitcode = bitcode;
    return make_pipeline(function, how);
  }
};

}  // namespace anymps::metal::engine
