// Pipeline: a kernel, ready to be launched.
//
//   Metallib library = Metallib::from_file("kernels.metallib");
//   auto pipeline = make_pipeline(*library.find("add_dense_float_float"), {});
//   pipeline->launch({.buffers = {...}}, {1000, 1, 1}, {256, 1, 1});
//
// Any thread may launch; a launch returns when the kernel is done.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "metal/air/signature.h"
#include "metal/library/metallib.h"
#include "metal/lower/kernel.h"
#include "metal/validation.h"

namespace anymps::metal {

using Size = std::array<std::uint32_t, 3>;

struct Launch {
  std::array<void*, kMaxBindings> buffers{};             // by binding; null for what is not bound
  std::array<std::size_t, kMaxBindings> buffer_bytes{};  // how far each may be touched; 0: not known
  std::uint32_t by_value = 0;  // a bit for each buffer that is the launch's own: values, copied for it
  std::array<std::size_t, kMaxBindings> threadgroup_bytes{};  // sizes of threadgroup arguments, by binding
  // Run with the sanitiser, which the interpreter does not have. What it finds is added to `reports`; where there is
  // none, it is printed and kept for Door::take_validation_reports().
  bool validate = false;
  std::vector<ValidationReport>* reports = nullptr;
  // Where addresses that a kernel reads from memory may lead; null: anywhere.
  bool (*is_device_memory)(const void* address) = nullptr;
};

class Pipeline {
 public:
  static constexpr unsigned kThreadExecutionWidth = 32;
  static constexpr std::size_t kMostThreadgroupBytes = std::size_t{32} << 10;

  virtual ~Pipeline() = default;

  virtual const Signature& signature() const = 0;
  virtual lower::Route route() const = 0;
  unsigned max_threads_per_threadgroup() const { return signature().max_total_threads.value_or(engine::kMostThreads); }
  std::size_t static_threadgroup_bytes() const { return signature().static_threadgroup_bytes; }

  // `threads` in all, in threadgroups of `group`; those at the edge may be smaller. Throws engine::KernelError for a
  // threadgroup that is too large.
  virtual void launch(const Launch& launch, Size threads, Size group) = 0;

  // Throws engine::KernelError for a kernel with more variables in threadgroup memory than a GPU has, as Metal refuses
  // it when a pipeline is made.
  static void check_threadgroup_memory(const Signature& signature);

 protected:
  // For launch(): throws for a threadgroup of no threads, or of too many, and for a grid that cannot be counted.
  void check_launch(Size threads, Size group) const;
};

// Compiles, or finds it compiled. Throws engine::KernelError or AirError.
std::shared_ptr<Pipeline> make_pipeline(const FunctionEntry& function, const lower::LoweringOptions& options);

// The same in less than half the time, with code that runs each thread by itself; what make_pipeline() makes follows
// when launches have taken a while, or one is large. The results are the same to the bit.
std::shared_ptr<Pipeline> make_tiered_pipeline(const FunctionEntry& function, const lower::LoweringOptions& options);

// make_pipeline() for the values that each launch gives: waits for the compiler where they are new.
std::shared_ptr<Pipeline> make_specialised_pipeline(const FunctionEntry& function,
                                                    const lower::LoweringOptions& options);

// What makes pipelines.
using Engine = std::shared_ptr<Pipeline> (*)(const FunctionEntry& function, const lower::ConstantValues& constants);

// make_tiered_pipeline(), or the engine that ANYMPS_METAL_ENGINE names: "simd", many lanes at once, "specialised", the
// same as make_specialised_pipeline(), "oracle", which is make_pipeline(), "coroutines", which has no thread loops, or
// "interpreter" (interpret/interpreter.h). To compare engines launch by launch. With ANYMPS_VALIDATE every launch is
// validated, by the first of these; with ANYMPS_SANDBOX the engine is in another process (sandbox/boxed_pipeline.h).
// Throws engine::KernelError, for `kernel`, where it names none.
Engine chosen_engine(const std::string& kernel);

// By that engine.
std::shared_ptr<Pipeline> make_chosen_pipeline(const FunctionEntry& function, const lower::ConstantValues& constants);

}  // namespace anymps::metal
