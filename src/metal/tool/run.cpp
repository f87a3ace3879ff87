#include "metal/tool/run.h"

#include <llvm/Support/JSON.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "gpu/support/files_ahead.h"
#include "metal/air/argument_access.h"
#include "metal/engine/make_pipeline.h"
#include "metal/pipeline/pipeline.h"
#include "metal/select/engine_selection.h"
#include "metal/support/json_text.h"
#include "metal/tool/argument_type.h"
#include "metal/tool/buffer_text.h"
#include "metal/tool/function_signature.h"
#include "metal/tool/launch_request.h"
#include "metal/tool/npy.h"
#include "metal/tool/number_json.h"
#include "metal/tool/reports_json.h"

namespace anymps::metal::tool {
namespace {

namespace json = llvm::json;

constexpr std::size_t kShown = 16;  // scalars of a buffer that nobody asked for

double milliseconds_since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
}

// A buffer that is bound, or nothing for "none".
struct Bound {
  const air::Argument* argument;
  unsigned binding;
  std::optional<Buffer> buffer;
};

std::string bound_text(const Bound& bound) {
  return "argument " + std::to_string(bound.binding) + " (" + bound.argument->type_name + " " + bound.argument->name +
         ")";
}

std::vector<Bound> places_of(const air::Signature& signature) {
  std::vector<Bound> places;
  for (const air::Argument& argument : signature.arguments) {
    if (!air::is_bound(argument.kind) || argument.kind == air::ArgumentKind::kThreadgroupBuffer) continue;
    for (unsigned i = 0; i < argument.count; ++i) places.push_back({&argument, argument.binding + i, std::nullopt});
  }
  std::ranges::stable_sort(places, {}, &Bound::binding);
  return places;
}

void fill(Bound& place, const std::string& text, std::uint64_t seed) {
  if (text == "none") return;
  if (place.argument->kind == air::ArgumentKind::kIndirectBuffer) {
    throw RequestError(bound_text(place) + " holds addresses of buffers, which cannot be given here; there is `none`");
  }
  try {
    place.buffer = buffer_of(text, element_type_of(*place.argument), seed, place.binding);
  } catch (const RequestError& error) {
    throw RequestError(bound_text(place) + ": " + error.what());
  }
  const std::size_t least = std::max(place.argument->buffer_size, place.argument->size);
  if (place.buffer->memory.size() < least) {
    throw RequestError(bound_text(place) + " takes " + std::to_string(least) + " bytes; " + text + " has " +
                       std::to_string(place.buffer->memory.size()));
  }
}

std::vector<Bound> bind(const LaunchRequest& request, const air::Signature& signature) {
  std::vector<Bound> places = places_of(signature);
  if (request.arguments.size() != places.size()) {
    throw RequestError(signature.kernel + " takes " + std::to_string(places.size()) + " buffers, and " +
                       std::to_string(request.arguments.size()) + " --arg are given: " + buffers_of(signature));
  }
  for (std::size_t i = 0; i < places.size(); ++i) fill(places[i], request.arguments[i], request.seed);
  return places;
}

pipeline::Launch launch_of(const LaunchRequest& request, std::vector<Bound>& bound, const air::Signature& signature) {
  pipeline::Launch launch;
  launch.validate = request.validate;
  for (Bound& place : bound) {
    if (!place.buffer) continue;
    launch.buffers[place.binding] = place.buffer->memory.data();
    launch.buffer_bytes[place.binding] = place.buffer->memory.size();
  }
  for (const auto& [binding, bytes] : request.threadgroup_bytes) launch.threadgroup_bytes[binding] = bytes;
  for (const air::Argument& argument : signature.arguments) {
    if (argument.kind != air::ArgumentKind::kThreadgroupBuffer || argument.unused || !argument.predicate.empty())
      continue;
    if (launch.threadgroup_bytes[argument.binding] != 0) continue;
    const std::string binding = std::to_string(argument.binding);
    throw RequestError("threadgroup argument " + binding + " (" + argument.type_name + " " + argument.name +
                       ") has no length: --threadgroup-bytes " + binding + "=BYTES");
  }
  return launch;
}

std::vector<std::byte> file_of(const Buffer& buffer, bool npy) {
  if (!npy) return {buffer.memory.bytes().begin(), buffer.memory.bytes().end()};
  NpyArray array{.scalar = buffer.type.scalar, .shape = buffer.shape, .bytes = {}};
  array.bytes = scalars_of(buffer.type, buffer.memory.bytes());
  if (array.shape.empty()) {
    array.shape = {buffer.memory.size() / buffer.type.stride()};
    if (buffer.type.width != 1) array.shape.push_back(buffer.type.width);
  }
  return npy_of(array);
}

json::Object output_of(const Bound& bound, std::size_t shown) {
  const Buffer& buffer = *bound.buffer;
  const std::size_t size = size_of(buffer.type.scalar);
  const std::vector<std::byte> scalars = scalars_of(buffer.type, buffer.memory.bytes());
  json::Array values;
  for (std::size_t i = 0; i < std::min(scalars.size() / size, shown); ++i) {
    values.push_back(json_of(number_at(buffer.type.scalar, scalars.data() + i * size)));
  }
  return json::Object{{"binding", bound.binding},
                      {"name", json::fixUTF8(bound.argument->name)},
                      {"type", name_of(buffer.type)},
                      {"width", buffer.type.width},
                      {"count", static_cast<std::int64_t>(buffer.memory.size() / buffer.type.stride())},
                      {"values", std::move(values)}};
}

json::Array take_outputs(const LaunchRequest& request, const std::vector<Bound>& bound, std::string& files) {
  json::Array outputs;
  for (const auto& [binding, file] : request.outputs) {
    const auto found = std::ranges::find(bound, binding, &Bound::binding);
    if (found == bound.end() || !found->buffer) {
      throw RequestError("--out " + std::to_string(binding) + ": no buffer is bound there");
    }
    json::Object output = output_of(*found, file.empty() ? found->buffer->memory.size() : kShown);
    if (!file.empty()) {
      const std::vector<std::byte> bytes = file_of(*found->buffer, file.ends_with(".npy"));
      files.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      output["file_bytes"] = static_cast<std::int64_t>(bytes.size());
    }
    outputs.push_back(std::move(output));
  }
  for (const Bound& place : bound) {
    if (request.outputs.empty() && place.buffer && air::may_be_written(*place.argument)) {
      outputs.push_back(output_of(place, kShown));
    }
  }
  return outputs;
}

pipeline::Size group_of(const LaunchRequest& request, const pipeline::Pipeline& pipeline) {
  if (request.group) return *request.group;
  return {std::min<std::uint32_t>(request.threads[0], pipeline.max_threads_per_threadgroup()), 1, 1};
}

double median(std::vector<double> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  return *middle;
}

}  // namespace

void open_inputs_ahead(std::span<const std::string> options) {
  for (const std::string& argument : launch_request_of(options).arguments) {
    for (const std::string& file : files_in(argument)) gpu::support::open_ahead(file);
  }
}

RunAnswer run_as_json(const library::FunctionEntry& function, std::span<const std::string> options) {
  const LaunchRequest request = launch_request_of(options);
  const air::Signature signature = read_signature(function);
  std::vector<Bound> bound = bind(request, signature);
  const abi::ConstantValues constants = constants_of(request, signature);
  pipeline::Launch launch = launch_of(request, bound, signature);
  std::vector<pipeline::ValidationReport> reports;
  launch.reports = &reports;

  auto began = std::chrono::steady_clock::now();
  // Only one engine has the sanitiser.
  const std::shared_ptr<pipeline::Pipeline> pipeline =
      request.validate ? engine::make_pipeline(function, {.constants = constants, .validate = true})
                       : select::make_chosen_pipeline(function, constants);
  const double compiling = milliseconds_since(began);
  const pipeline::Size group = group_of(request, *pipeline);
  pipeline->launch(launch, request.threads, group);

  std::string files;
  json::Object answer{{"version", 1},
                      {"kernel", json::fixUTF8(function.name)},
                      {"threads", json::Array(request.threads)},
                      {"group", json::Array(group)},
                      {"route", std::string(abi::name_of(pipeline->route()))},
                      {"validated", request.validate},
                      {"compile_ms", compiling},
                      {"outputs", take_outputs(request, bound, files)},
                      {"reports", json_of(reports)},
                      {"launches", static_cast<std::int64_t>(request.repeat)},
                      {"median_ms", nullptr}};
  // After the results were taken: these launches go on with what the first one left.
  std::vector<double> times;
  for (std::size_t i = 0; i < request.repeat; ++i) {
    began = std::chrono::steady_clock::now();
    pipeline->launch(launch, request.threads, group);
    times.push_back(milliseconds_since(began));
  }
  if (!times.empty()) answer["median_ms"] = median(std::move(times));
  return {.json = support::json_text(std::move(answer)), .files = std::move(files)};
}

}  // namespace anymps::metal::tool
