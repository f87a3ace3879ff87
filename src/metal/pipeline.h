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

#include "metal/air/signature.h"
#include "metal/library/metallib.h"
#include "metal/lower/kernel.h"

namespace anymps::metal {

using Size = std::array<std::uint32_t, 3>;

struct Launch {
  std::array<void*, kMaxBindings> buffers{};                  // by binding; null for what is not bound
  std::array<std::size_t, kMaxBindings> buffer_bytes{};       // how far each may be touched; 0: not known
  std::array<std::size_t, kMaxBindings> threadgroup_bytes{};  // sizes of threadgroup arguments, by binding
};

class Pipeline {
 public:
  static constexpr unsigned kThreadExecutionWidth = 32;

  virtual ~Pipeline() = default;

  virtual const Signature& signature() const = 0;
  virtual unsigned max_threads_per_threadgroup() const = 0;
  virtual std::size_t static_threadgroup_bytes() const = 0;
  virtual lower::Route route() const = 0;

  // `threads` in all, in threadgroups of `group`; those at the edge may be smaller. Throws engine::KernelError for a
  // threadgroup that is too large.
  virtual void launch(const Launch& launch, Size threads, Size group) = 0;
};

// Compiles, or finds it compiled. Throws engine::KernelError or AirError.
std::shared_ptr<Pipeline> make_pipeline(const FunctionEntry& function, const lower::LoweringOptions& options);

// The same with the engine that ANYMPS_METAL_ENGINE names: "oracle", which is make_pipeline and what is used where the
// variable is not set, "coroutines", which has no thread loops, or "interpreter" (interpret/interpreter.h). To compare
// engines launch by launch.
std::shared_ptr<Pipeline> make_chosen_pipeline(const FunctionEntry& function, const lower::ConstantValues& constants);

}  // namespace anymps::metal
