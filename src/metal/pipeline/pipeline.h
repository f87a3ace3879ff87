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

#include "metal/abi/cooperative_op.h"
#include "metal/abi/route.h"
#include "metal/air/signature.h"
#include "metal/pipeline/validation.h"

namespace anymps::metal::pipeline {

using Size = std::array<std::uint32_t, 3>;

struct Launch {
  std::array<void*, air::kMaxBindings> buffers{};             // by binding; null for what is not bound
  std::array<std::size_t, air::kMaxBindings> buffer_bytes{};  // how far each may be touched; 0: not known
  std::uint32_t by_value = 0;  // a bit for each buffer that is the launch's own: values, copied for it
  std::array<std::size_t, air::kMaxBindings> threadgroup_bytes{};  // sizes of threadgroup arguments, by binding
  // Run with the sanitiser, which the interpreter does not have. What it finds is added to `reports`; where there is
  // none, it is printed and kept for Plugin::take_validation_reports().
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

  virtual const air::Signature& signature() const = 0;
  virtual abi::Route route() const = 0;
  unsigned max_threads_per_threadgroup() const { return signature().max_total_threads.value_or(abi::kMostThreads); }
  std::size_t static_threadgroup_bytes() const { return signature().static_threadgroup_bytes; }

  // `threads` in all, in threadgroups of `group`; those at the edge may be smaller. Throws KernelError for a
  // threadgroup that is too large.
  virtual void launch(const Launch& launch, Size threads, Size group) = 0;

  // Throws KernelError for a kernel with more variables in threadgroup memory than a GPU has, as Metal refuses
  // it when a pipeline is made.
  static void check_threadgroup_memory(const air::Signature& signature);

 protected:
  // For launch(): throws for a threadgroup of no threads, or of too many, and for a grid that cannot be counted.
  void check_launch(Size threads, Size group) const;
};

}  // namespace anymps::metal::pipeline
