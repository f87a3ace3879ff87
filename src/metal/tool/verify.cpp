#include "metal/tool/verify.h"

#include <llvm/Support/JSON.h>
#include <llvm/Support/raw_ostream.h>
#include <sys/resource.h>

#include <chrono>
#include <exception>

#include "metal/engine/compiler.h"

namespace anymps::metal {

std::string verify_as_json(std::span<const FunctionEntry> functions) {
  llvm::json::Array kernels;
  for (const FunctionEntry& function : functions) {
    if (function.type != FunctionType::kKernel) continue;
    llvm::json::Object entry;
    entry["name"] = llvm::json::fixUTF8(function.name);
    const auto began = std::chrono::steady_clock::now();
    try {
      const engine::CompiledKernel kernel = engine::compile_kernel(function.bitcode, function.name, {});
      const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
      entry["route"] = kernel.route == lower::Route::kThreadLoop ? "thread loop" : "coroutines";
      entry["ms"] = took.count();
      entry["bytes"] = static_cast<std::int64_t>(kernel.object.size());
    } catch (const std::exception& error) {
      entry["refusal"] = llvm::json::fixUTF8(error.what());
    }
    kernels.push_back(std::move(entry));
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  llvm::json::Object answer;
  answer["kernels"] = std::move(kernels);
  answer["peak_kib"] = static_cast<std::int64_t>(usage.ru_maxrss);
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << llvm::json::Value(std::move(answer));
  return text;
}

}  // namespace anymps::metal
