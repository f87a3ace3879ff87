#include "metal/tool/verify.h"

#include <llvm/Support/JSON.h>
#include <sys/resource.h>

#include <ctime>
#include <exception>
#include <vector>

#include "gpu/thread_pool.h"
#include "metal/engine/compiler.h"
#include "metal/support/json_text.h"

namespace anymps::metal::tool {

namespace {

double thread_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

llvm::json::Object verify_simd(const library::FunctionEntry& function) {
  const double began = thread_milliseconds();
  const runtime::CompiledKernel kernel = engine::compile_kernel(
      function.bitcode, function.name, {.constants = {}, .simdgroups = lower::vectorize::Simdgroups::kWhole});
  llvm::json::Object entry;
  entry["ms"] = thread_milliseconds() - began;
  entry["bytes"] = static_cast<std::int64_t>(kernel.object.size());
  if (!kernel.not_vectorized.empty()) entry["declined"] = llvm::json::fixUTF8(kernel.not_vectorized);
  return entry;
}

llvm::json::Object verify(const library::FunctionEntry& function, bool simd) {
  llvm::json::Object entry;
  entry["name"] = llvm::json::fixUTF8(function.name);
  const double began = thread_milliseconds();
  try {
    const runtime::CompiledKernel kernel = engine::compile_kernel(function.bitcode, function.name, {});
    entry["route"] = std::string(abi::name_of(kernel.route));
    entry["ms"] = thread_milliseconds() - began;
    entry["bytes"] = static_cast<std::int64_t>(kernel.object.size());
    if (simd) entry["simd"] = verify_simd(function);
  } catch (const std::exception& error) {
    entry["refusal"] = llvm::json::fixUTF8(error.what());
  }
  return entry;
}

}  // namespace

std::string verify_as_json(std::span<const library::FunctionEntry> functions, unsigned jobs, bool simd) {
  std::vector<llvm::json::Object> entries(functions.size());
  gpu::ThreadPool pool(jobs);
  pool.parallel_for(functions.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (functions[i].type == library::FunctionType::kKernel) entries[i] = verify(functions[i], simd);
    }
  });
  llvm::json::Array kernels;
  for (llvm::json::Object& entry : entries) {
    if (!entry.empty()) kernels.push_back(std::move(entry));
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  llvm::json::Object answer;
  answer["kernels"] = std::move(kernels);
  answer["peak_kib"] = static_cast<std::int64_t>(usage.ru_maxrss);
  return support::json_text(std::move(answer));
}

}  // namespace anymps::metal::tool
