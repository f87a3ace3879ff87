// PyTorch's own classes for Metal libraries (ATen/native/mps/MetalShaderLibrary.h), on our engine. A C++ extension that
// is written against that header finds them here.
#include <ATen/core/Tensor.h>
#include <ATen/native/mps/MetalShaderLibrary.h>
#include <c10/util/Exception.h>
#include <c10/util/env.h>
#include <fmt/args.h>
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "backend/shaders/metal_capture.h"
#include "backend/shaders/metal_plugin.h"
#include "backend/shaders/precompiled_library.h"
#include "backend/shaders/shader_launch.h"
#include "gpu/device.h"

namespace anymps::backend::shaders {
namespace {

PipelineHandle* handle(MTLComputePipelineState_t state) { return static_cast<PipelineHandle*>(state); }
LibraryHandle* handle_of_library(MTLLibrary_t library) { return static_cast<LibraryHandle*>(library); }
Encoding& encoding(MTLComputeCommandEncoder_t encoder) { return *static_cast<Encoding*>(encoder); }

void release(PipelineHandle* state) {
  if (--state->uses == 0) delete state;
}

MTLLibrary_t load(std::span<const std::byte> bytes, const std::string& otherwise) {
  try {
    return new LibraryHandle{metal_plugin().load(bytes)};
  } catch (const std::exception& error) {
    TORCH_CHECK(false, otherwise, error.what());
  }
}

void* address_of(const at::TensorBase& tensor) {
  return storage_of(tensor).base + tensor.storage_offset() * static_cast<std::int64_t>(tensor.element_size());
}

#if ANYMPS_METAL_VERSION_CAN_BE_CHOSEN
// As __METAL_VERSION__ has it; nothing where it is not chosen, or with a warning where it is no version that PyTorch
// knows.
std::optional<unsigned> chosen_metal_version() {
  const auto text = c10::utils::get_env("PYTORCH_MPS_METAL_VERSION");
  if (!text) return std::nullopt;
  if (*text == "3.1") return 310;
  if (*text == "3.2") return 320;
  if (*text == "4.0") return 400;
  TORCH_WARN("Ignoring PYTORCH_MPS_METAL_VERSION=", *text, ", expected 3.1, 3.2 or 4.0");
  return std::nullopt;
}
#else
std::optional<unsigned> chosen_metal_version() { return std::nullopt; }
#endif

// As __METAL_VERSION__ has it: what PyTorch asks for under the simulated macOS.
unsigned metal_version() {
  if (const std::optional<unsigned> chosen = chosen_metal_version()) return *chosen;
  const unsigned macos = gpu::device_facts().macos_major;
  if (macos >= 26) return 400;
  return macos >= 15 ? 320 : 310;
}

// As PyTorch asks Metal for it: safe mathematics unless PYTORCH_MPS_FAST_MATH is set.
metal::frontend::SourceOptions source_options() {
  static const bool fast_math = [] {
    const char* value = std::getenv("PYTORCH_MPS_FAST_MATH");
    return value != nullptr && std::string_view(value) != "0";
  }();
  static const unsigned version = metal_version();
  metal::frontend::SourceOptions options;
  options.fast_math = fast_math;
  options.version = version;
  return options;
}

}  // namespace
}  // namespace anymps::backend::shaders

namespace at::native::mps {

using namespace anymps::backend::shaders;  // NOLINT(google-build-using-namespace): the definitions below belong to both

void* get_tensor_gpu_address(const at::TensorBase& tensor) {
  if (is_capturing()) note_reachable(storage_of(tensor));
  return address_of(tensor);
}

MetalKernelFunction::MetalKernelFunction(MTLComputePipelineState_t state, MTLFunction_t function)
    : cps(state), func(function) {
  ++handle(cps)->uses;
}

MetalKernelFunction::~MetalKernelFunction() {
  delete static_cast<Encoding*>(encoder);
  release(handle(cps));
}

uint64_t MetalKernelFunction::getMaxThreadsPerThreadgroup() const {
  return handle(cps)->pipeline->max_threads_per_threadgroup();
}
uint64_t MetalKernelFunction::getThreadExecutionWidth() const {
  return anymps::metal::pipeline::Pipeline::kThreadExecutionWidth;
}
uint64_t MetalKernelFunction::getStaticThreadGroupMemoryLength() const {
  return handle(cps)->pipeline->static_threadgroup_bytes();
}

void MetalKernelFunction::runCommandBlock(std::function<void(void)> run) { run(); }

void MetalKernelFunction::startEncoding() {
  delete static_cast<Encoding*>(encoder);
  encoder = new Encoding;
}

void MetalKernelFunction::setArg(unsigned idx, const at::TensorBase& t) {
  if (!t.is_cpu()) {
    TORCH_CHECK(t.is_mps(), "Placeholder storage has not been allocated on MPS device!");
    // A Mac binds the whole storage, with an offset.
    encoding(encoder).set_in_storage(idx, address_of(t), storage_of(t));
    return;
  }
  TORCH_CHECK(t.dim() == 0, "Passed CPU tensor to MPS op");
  // There is no double on the device: a scalar is passed as float, without a word.
  if (t.scalar_type() == at::kDouble) {
    setArg(idx, static_cast<float>(*static_cast<const double*>(t.const_data_ptr())));
  } else if (t.scalar_type() == at::kComplexDouble) {
    const auto value = static_cast<c10::complex<float>>(*static_cast<const c10::complex<double>*>(t.const_data_ptr()));
    setArg(idx, &value, sizeof value);
  } else {
    setArg(idx, t.const_data_ptr(), t.element_size());
  }
}

void MetalKernelFunction::setArg(unsigned idx, const void* ptr, uint64_t size) {
  TORCH_CHECK(size > 0);
  encoding(encoder).set_bytes(idx, ptr, size);
}

void MetalKernelFunction::setErrorBufferIndex(unsigned idx) {
  Encoding& current = encoding(encoder);
  current.errors = std::make_unique<c10::metal::ErrorMessages>();
  current.set(idx, current.errors.get(), sizeof *current.errors);
}

void MetalKernelFunction::dispatch(uint64_t length, std::optional<uint64_t> group_size) {
  const uint64_t most = getMaxThreadsPerThreadgroup();
  const uint64_t group = group_size.value_or(std::min(length, most));
  TORCH_CHECK_VALUE(group <= most, "Threadgroup size exceeds ", most, " limit");
  run(*handle(cps), encoding(encoder), {narrowed(length), 1, 1}, {narrowed(group), 1, 1});
}

void MetalKernelFunction::dispatch(c10::ArrayRef<uint64_t> length, c10::OptionalArrayRef<uint64_t> group_size) {
  TORCH_CHECK(!length.empty() && length.size() < 4, "Dispatch dimensions must be less than 3 and non-empty");
  TORCH_CHECK(!group_size.has_value() || group_size->size() == length.size(),
              "size and group_size must have same number of dimensions");
  const uint64_t most = getMaxThreadsPerThreadgroup();
  anymps::metal::pipeline::Size threads = {1, 1, 1};
  anymps::metal::pipeline::Size group = {narrowed(most), 1, 1};
  uint64_t size = group_size.has_value() ? 1 : most;
  for (std::size_t i = 0; i < length.size(); ++i) {
    threads[i] = narrowed(length[i]);
    if (!group_size.has_value()) continue;
    group[i] = narrowed(group_size->at(i));
    if (size <= most) size *= group[i];  // beyond, it may not be held by 64 bits
  }
  TORCH_CHECK_VALUE(size <= most, "Threadgroup size exceeds ", most, " limit");
  run(*handle(cps), encoding(encoder), threads, group);
}

MetalShaderLibrary::~MetalShaderLibrary() {
  for (auto& [name, made] : cplMap) release(handle(made.first));
  std::set<MTLLibrary_t> libraries = {library};
  for (const auto& [params, made] : libMap) libraries.insert(made);
  for (MTLLibrary_t made : libraries) delete handle_of_library(made);
}

std::vector<std::string> MetalShaderLibrary::getFunctionNames() {
  return handle_of_library(getLibrary())->library->kernels();
}

#if ANYMPS_LIBRARIES_KNOW_THEIR_FUNCTIONS
bool MetalShaderLibrary::hasFunction(const std::string& name) {
  if (!functionNamesPopulated) {
    for (std::string& known : getFunctionNames()) functionNames.insert(std::move(known));
    functionNamesPopulated = true;
  }
  return functionNames.contains(name);
}
#endif

std::shared_ptr<MetalKernelFunction> MetalShaderLibrary::getKernelFunction(const std::string& name) {
  const auto [state, function] = getLibraryPipelineState(getLibrary(), name);
  return std::make_shared<MetalKernelFunction>(state, function);
}

MetalKernelFunction* MetalShaderLibrary::getCachedKernelFunctionPtr(const std::string& name) {
  std::unique_ptr<MetalKernelFunction>& kept = kernelCache[name];
  if (!kept) {
    const auto [state, function] = getLibraryPipelineState(getLibrary(), name);
    kept = std::make_unique<MetalKernelFunction>(state, function);
  }
  return kept.get();
}

MTLLibrary_t MetalShaderLibrary::getLibrary() {
  if (library == nullptr) library = compileLibrary(shaderSource);
  return library;
}

MTLLibrary_t MetalShaderLibrary::getLibrary(const std::initializer_list<std::string>& params) {
  TORCH_INTERNAL_ASSERT(nparams == params.size());
  std::string key;
  fmt::dynamic_format_arg_store<fmt::format_context> arguments;
  for (const std::string& param : params) {
    key += ":" + param;
    arguments.push_back(param);
  }
  MTLLibrary_t& made = libMap[key];
  if (made == nullptr) made = compileLibrary(fmt::vformat(shaderSource, arguments));
  return made;
}

MTLLibrary_t MetalShaderLibrary::compileLibrary(const std::string& source) {
  try {
    library = new LibraryHandle{metal_plugin().compile(source, source_options())};
  } catch (const anymps::metal::frontend::CompileError& error) {
    C10_THROW_ERROR(SyntaxError, error.what());
  } catch (const std::exception& error) {
    TORCH_CHECK(false, "Failed to create metal library, error: ", error.what());
  }
  return library;
}

std::pair<MTLComputePipelineState_t, MTLFunction_t> MetalShaderLibrary::getLibraryPipelineState(
    MTLLibrary_t lib, const std::string& name) {
  const std::string key = fmt::format("{}:{}", lib, name);
  const auto found = cplMap.find(key);
  if (found != cplMap.end()) return found->second;
  const auto& loaded = handle_of_library(lib)->library;
  TORCH_CHECK(loaded->has(name), "Failed to create function state object for: ", name);
  try {
    auto* made = new PipelineHandle{loaded->pipeline(name), loaded};
    return cplMap[key] = {made, made};
  } catch (const std::exception& error) {
    TORCH_CHECK(false, "Failed to created pipeline state object, error: ", error.what());
  }
}

MetalShaderLibrary& MetalShaderLibrary::getBundledLibrary() {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "anymps does not have PyTorch's own kernels as a Metal library (docs/limits.md)");
}

PrecompiledMetalShaderLibrary::PrecompiledMetalShaderLibrary(std::vector<uint8_t> data) : MetalShaderLibrary("") {
  library = load(std::as_bytes(std::span(data)), "Failed to load metallib: ");
}

PrecompiledMetalShaderLibrary::PrecompiledMetalShaderLibrary(const std::string& path) : MetalShaderLibrary("") {
  const std::string otherwise = "Failed to load metallib from '" + path + "': ";
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> data{std::istreambuf_iterator<char>(file), {}};
  TORCH_CHECK(file, otherwise, "the file cannot be read");
  library = load(std::as_bytes(std::span(data)), otherwise);
}

PrecompiledMetalShaderLibrary::~PrecompiledMetalShaderLibrary() = default;
DynamicMetalShaderLibrary::~DynamicMetalShaderLibrary() = default;

}  // namespace at::native::mps
