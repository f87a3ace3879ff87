// Kernels in Metal's own language, compiled and launched.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "metal/engine/make_pipeline.h"
#include "metal/frontend/program.h"
#include "metal/pipeline/pipeline.h"

namespace anymps::metal::testing {

struct Grid {
  std::uint32_t threads = 1;
  std::uint32_t group = 1;
};

struct SourceRun {
  frontend::SourceOptions options;
  lower::LoweringOptions lowering;
  std::vector<std::size_t> threadgroup_bytes;
};

// Launches `kernel` of the source with these buffers at 0, 1, ...
inline void run_source(std::string_view source, const std::string& kernel, const std::vector<void*>& buffers,
                       Grid grid = {}, const SourceRun& how = {}) {
  const frontend::Program program(source, how.options);
  const std::vector<std::byte> air = program.air_of(kernel);
  library::FunctionEntry function;
  function.name = kernel;
  function.bitcode = air;
  pipeline::Launch launch;
  std::ranges::copy(buffers, launch.buffers.begin());
  std::ranges::copy(how.threadgroup_bytes, launch.threadgroup_bytes.begin());
  engine::make_pipeline(function, how.lowering)->launch(launch, {grid.threads, 1, 1}, {grid.group, 1, 1});
}

// What kernel "k" leaves in its buffer of `count` numbers.
template <typename T>
std::vector<T> results(std::string_view source, std::size_t count, Grid grid = {}, const SourceRun& how = {}) {
  std::vector<T> out(count);
  run_source(source, "k", {out.data()}, grid, how);
  return out;
}

// What the compiler says of a source that it refuses; empty where it takes it, kernels and all.
inline std::string refusal_of(std::string_view source, const frontend::SourceOptions& options = {}) {
  try {
    const frontend::Program program(source, options);
    for (const std::string& kernel : program.kernels()) (void)program.air_of(kernel);
  } catch (const frontend::CompileError& error) {
    return error.what();
  }
  return "";
}

}  // namespace anymps::metal::testing
