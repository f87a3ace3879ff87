// Times a launch of one threadgroup, which does next to nothing. Prints a line per round: what is launched,
// nanoseconds. bench/launch.py makes medians of them.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "metal/engine/make_pipeline.h"
#include "metal/frontend/program.h"
#include "metal/pipeline/pipeline.h"

namespace {

using namespace anymps;

constexpr int kLaunches = 2000;  // per round
constexpr char kSource[] = R"(
#include <metal_stdlib>
using namespace metal;
kernel void plain(device float* x, constant float& by, uint i [[thread_position_in_grid]]) { x[i] += by; }
kernel void sums(device float* x, constant float& by, uint i [[thread_position_in_grid]]) { x[i] = simd_sum(by); }
kernel void barriers(device float* x, constant float& by, uint i [[thread_position_in_threadgroup]]) {
  threadgroup float shared[32];
  shared[i] = x[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  x[i] = shared[31 - i] + by;
}
)";

double nanoseconds(metal::pipeline::Pipeline& pipeline) {
  static float numbers[32];
  float by = 1;
  metal::pipeline::Launch launch;
  launch.buffers[0] = numbers;
  launch.buffer_bytes[0] = sizeof numbers;
  launch.buffers[1] = &by;
  launch.buffer_bytes[1] = sizeof by;
  launch.by_value = 2;
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < kLaunches; ++i) pipeline.launch(launch, {32, 1, 1}, {32, 1, 1});
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - began;
  return took.count() / kLaunches;
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 40;
  const metal::frontend::Program program(kSource, {});
  std::vector<std::pair<std::string, std::shared_ptr<metal::pipeline::Pipeline>>> cases;
  for (const char* name : {"plain", "sums", "barriers"}) {
    const std::vector<std::byte> air = program.air_of(name);
    metal::library::FunctionEntry entry;
    entry.name = name;
    entry.bitcode = air;
    const metal::lower::LoweringOptions fast = {.simdgroups = metal::lower::vectorize::Simdgroups::kWhole};
    cases.emplace_back(name, metal::engine::make_pipeline(entry, fast));
    cases.emplace_back(std::string(name) + ",tiered", metal::engine::make_tiered_pipeline(entry, {}));
  }
  for (const auto& [name, pipeline] : cases) nanoseconds(*pipeline);
  for (int round = 0; round < rounds; ++round) {
    for (const auto& [name, pipeline] : cases) std::printf("%s %.1f\n", name.c_str(), nanoseconds(*pipeline));
  }
}
