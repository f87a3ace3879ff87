#include "kernel_trial.h"

#include <exception>
#include <memory>
#include <utility>

#include "kernel_buffers.h"
#include "metal/engine/compiler.h"
#include "metal/engine/make_pipeline.h"
#include "metal/frontend/program.h"
#include "metal/interpret/interpreter.h"
#include "metal/pipeline/pipeline.h"

namespace anymps::fuzz {
namespace {

constexpr Engine kEngines[] = {Engine::kInterpreter, Engine::kOracle, Engine::kSimd};

metal::lower::LoweringOptions many_lanes() {
  metal::lower::LoweringOptions options;
  options.simdgroups = metal::lower::vectorize::Simdgroups::kWhole;
  return options;
}

std::shared_ptr<metal::pipeline::Pipeline> make(Engine engine, const metal::library::FunctionEntry& function) {
  switch (engine) {
    case Engine::kInterpreter:
      return metal::interpret::make_interpreter(function, {});
    case Engine::kOracle:
      return metal::engine::make_pipeline(function, {});
    case Engine::kSimd:
      return metal::engine::make_pipeline(function, many_lanes());
  }
  return nullptr;
}

metal::pipeline::Launch launch_of(std::vector<Bytes>& buffers) {
  metal::pipeline::Launch launch;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    launch.buffers[i] = buffers[i].data();
    launch.buffer_bytes[i] = buffers[i].size();
  }
  return launch;
}

void launch(metal::pipeline::Pipeline& pipeline, const metal::pipeline::Launch& how, const LaunchShape& shape) {
  pipeline.launch(how, {shape.grid[0], shape.grid[1], 1}, {shape.group[0], shape.group[1], 1});
}

// The first buffer in which two engines differ.
std::optional<std::string> first_difference(const std::vector<Bytes>& left, const std::vector<Bytes>& right) {
  for (std::size_t i = 0; i < left.size(); ++i) {
    const BufferKind& kind = buffer_kinds()[i];
    if (!kind.output) continue;
    if (auto found = difference(kind, left[i], right[i])) return found;
  }
  return std::nullopt;
}

std::string shape_text(const LaunchShape& shape) {
  return text_of(LaunchPlan{.values = 0, .shapes = {shape}}).substr(std::string("// values 0, ").size());
}

std::optional<Disagreement> compare(const metal::library::FunctionEntry& function, const LaunchPlan& plan) {
  std::array<std::shared_ptr<metal::pipeline::Pipeline>, std::size(kEngines)> pipelines;
  for (const Engine engine : kEngines) {
    try {
      pipelines[static_cast<unsigned>(engine)] = make(engine, function);
    } catch (const std::exception& error) {
      return Disagreement{.who = std::string(name_of(engine)) + " refuses", .what = error.what()};
    }
  }
  for (const LaunchShape& shape : plan.shapes) {
    const std::vector<Bytes> before = make_buffers(plan.values, shape.threads());
    std::array<std::vector<Bytes>, std::size(kEngines)> results;
    for (const Engine engine : kEngines) {
      std::vector<Bytes>& buffers = results[static_cast<unsigned>(engine)];
      buffers = before;
      try {
        launch(*pipelines[static_cast<unsigned>(engine)], launch_of(buffers), shape);
      } catch (const std::exception& error) {
        return Disagreement{.who = std::string(name_of(engine)) + " fails", .what = error.what()};
      }
    }
    // The oracle first against the interpreter, whose agreement says that the third is wrong.
    constexpr std::pair<Engine, Engine> kPairs[] = {{Engine::kInterpreter, Engine::kOracle},
                                                    {Engine::kOracle, Engine::kSimd}};
    for (const auto& [left, right] : kPairs) {
      const auto found = first_difference(results[static_cast<unsigned>(left)], results[static_cast<unsigned>(right)]);
      if (!found) continue;
      return Disagreement{.who = std::string(name_of(left)) + " and " + name_of(right),
                          .what = shape_text(shape) + ": " + *found};
    }
  }
  return std::nullopt;
}

}  // namespace

const char* name_of(Engine engine) {
  constexpr const char* kNames[] = {"interpreter", "oracle", "simd"};
  return kNames[static_cast<unsigned>(engine)];
}

Trial try_kernel(const std::string& source) {
  Trial trial;
  std::vector<std::byte> air;
  try {
    air = metal::frontend::Program(source, {}).air_of("k");
  } catch (const metal::frontend::CompileError& error) {
    trial.refusal = error.what();
    return trial;
  }
  trial.compiles = true;
  metal::library::FunctionEntry function;
  function.name = "k";
  function.bitcode = air;
  trial.disagreement = compare(function, plan_of(source));
  if (!trial.disagreement) {
    trial.not_vectorized = metal::engine::cached_kernel(air, "k", many_lanes()).not_vectorized;
  }
  return trial;
}

std::string faults_of(const std::string& source) {
  const std::vector<std::byte> air = metal::frontend::Program(source, {}).air_of("k");
  metal::library::FunctionEntry function;
  function.name = "k";
  function.bitcode = air;
  const auto pipeline = metal::engine::make_pipeline(function, {});
  const LaunchPlan plan = plan_of(source);
  std::vector<metal::pipeline::ValidationReport> reports;
  for (const LaunchShape& shape : plan.shapes) {
    std::vector<Bytes> buffers = make_buffers(plan.values, shape.threads());
    metal::pipeline::Launch how = launch_of(buffers);
    how.validate = true;
    how.reports = &reports;
    launch(*pipeline, how, shape);
  }
  std::string text;
  for (const metal::pipeline::ValidationReport& report : reports) {
    // Threads may end before the others meet: that is a fault for Metal, and has one meaning here.
    const bool ended = report.fault == metal::pipeline::Fault::kDivergentBarrier &&
                       report.text.find(" has ended\n") != std::string::npos;
    if (!ended) text += report.text + "\n";
  }
  return text;
}

}  // namespace anymps::fuzz
