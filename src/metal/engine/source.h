// What a pipeline was made from, kept for another form of the same kernel.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "metal/pipeline.h"

namespace anymps::metal::engine {

struct Source {
  std::string name;
  std::vector<std::byte> bitcode;
  lower::LoweringOptions options;

  Source(const FunctionEntry& function, lower::LoweringOptions how)
      : name(function.name), bitcode(function.bitcode.begin(), function.bitcode.end()), options(std::move(how)) {}

  std::shared_ptr<Pipeline> pipeline(const lower::LoweringOptions& how) const {
    FunctionEntry function;
    function.name = name;
    function.bitcode = bitcode;
    return make_pipeline(function, how);
  }
};

}  // namespace anymps::metal::engine
