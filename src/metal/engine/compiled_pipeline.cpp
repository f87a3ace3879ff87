// A kernel as code for this CPU, whichever way its threads are run (make_pipeline).
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <mutex>
#include <optional>
#include <vector>

#include "gpu/executor.h"
#include "gpu/support/round_up.h"
#include "metal/abi/binding_slots.h"
#include "metal/engine/compiler.h"
#include "metal/engine/jit_object.h"
#include "metal/engine/make_pipeline.h"
#include "metal/engine/source.h"
#include "metal/pipeline/kernel_error.h"
#include "metal/pipeline/pipeline.h"
#include "metal/runtime/flush_denormals.h"
#include "metal/runtime/guarded_memory.h"
#include "metal/runtime/kernel_guard.h"
#include "metal/runtime/reports.h"
#include "metal/runtime/scheduler.h"
#include "metal/runtime/simdgroups.h"
#include "metal/runtime/validator.h"

namespace anymps::metal::engine {
namespace {

using RunLoop = void (*)(void* const* bindings, const abi::Geometry* geometry, std::uint32_t x, std::uint32_t y,
                         std::uint32_t z, std::byte* threadgroup_memory);

constexpr std::size_t kThreadgroupAlignment = 64;
// Threads that are worth handing to another core.
constexpr std::size_t kThreadsPerTask = 8192;

// A threadgroup's memory: one per thread of the CPU, used again for the next. Its end lies at a guard page.
std::byte* threadgroup_memory(std::size_t bytes) {
  static thread_local std::optional<runtime::GuardedMemory> memory;
  const std::size_t size = gpu::support::round_up(bytes, kThreadgroupAlignment) + abi::kThreadgroupMargin;
  if (!memory || static_cast<std::size_t>(memory->end() - memory->begin()) < size + abi::kThreadgroupMargin) {
    memory.reset();
    memory.emplace(runtime::Guarded::kThreadgroupMemory, size + abi::kThreadgroupMargin);
  }
  return memory->end() - size;
}

// Whether a kernel can tell how its threads are grouped: by asking, or through memory that a threadgroup shares.
bool sees_threadgroups(const air::Signature& signature, const lower::transform::ThreadgroupLayout& layout) {
  if (layout.bytes != 0) return true;
  return std::ranges::any_of(signature.arguments, [](const air::Argument& argument) {
    switch (argument.kind) {
      case air::ArgumentKind::kBuffer:
      case air::ArgumentKind::kIndirectBuffer:
      case air::ArgumentKind::kThreadPositionInGrid:
      case air::ArgumentKind::kThreadsPerGrid:
      case air::ArgumentKind::kThreadsPerSimdgroup:
        return false;
      default:
        return true;
    }
  });
}

class CompiledPipeline final : public pipeline::Pipeline {
 public:
  CompiledPipeline(air::Signature signature, Source source, runtime::CompiledKernel kernel)
      : signature_(std::move(signature)),
        source_(std::move(source)),
        code_(Code::load(kernel.object, source_.name)),
        kernel_(without_object(std::move(kernel))),
        regroup_(!abi::is_of_coroutines(kernel_.route) && !kernel_.cooperative &&
                 !sees_threadgroups(signature_, kernel_.threadgroup)) {}

  const air::Signature& signature() const override { return signature_; }
  abi::Route route() const override { return kernel_.route; }

  void launch(const pipeline::Launch& launch, pipeline::Size threads, pipeline::Size group) override {
    if (launch.validate && !source_.options.validate) return validated().launch(launch, threads, group);
    check_launch(threads, group);
    check_bound(launch);
    if (const auto wanted = form_for(threads, group); wanted != source_.options.simdgroups) {
      return form(wanted).launch(launch, threads, group);
    }
    // Nobody can tell, and a long loop is worth more than many short ones.
    if (regroup_) group = {std::min<std::uint32_t>(threads[0], kThreadsPerTask), 1, 1};
    abi::Geometry geometry{.grid = threads, .threadgroup = group, .groups = {}};
    std::uint64_t groups = 1;
    for (unsigned i = 0; i < 3; ++i) {
      geometry.groups[i] = threads[i] / group[i] + static_cast<std::uint32_t>(threads[i] % group[i] != 0);
      groups *= geometry.groups[i];
    }
    std::array<void*, abi::kSlots> bindings{};
    std::ranges::copy(launch.buffers, bindings.begin());
    std::size_t memory = kernel_.threadgroup.bytes;
    for (unsigned i = 0; i < air::kMaxBindings; ++i) {
      bindings[abi::slot_of(air::ArgumentKind::kThreadgroupBuffer, i)] = reinterpret_cast<void*>(memory);
      memory += gpu::support::round_up(launch.threadgroup_bytes[i], kThreadgroupAlignment);
    }
    if (source_.options.validate) return run_validated(launch, bindings, geometry, groups, memory);
    const std::size_t threads_in_group = std::size_t{group[0]} * group[1] * group[2];
    const std::size_t grain = std::max<std::size_t>(1, kThreadsPerTask / threads_in_group);
    // Whoever is done takes the next few: threadgroups differ, and so do cores.
    std::atomic<std::size_t> next = 0;
    std::atomic<runtime::Ending> ending = runtime::Ending::kDone;
    const auto work = [&] {
      const runtime::FlushDenormals flush(signature_.denorms_disabled);
      std::byte* own = threadgroup_memory(memory);
      const runtime::Ending ended = runtime::run_guarded(signature_.kernel, code_->range(), [&] {
        for (;;) {
          const std::size_t begin = next.fetch_add(grain, std::memory_order_relaxed);
          if (begin >= groups) return;
          const std::size_t end = std::min<std::size_t>(begin + grain, groups);
          for (std::size_t index = begin; index < end; ++index) run(bindings.data(), geometry, index, own);
        }
      });
      if (ended == runtime::Ending::kDone) return;
      ending = ended;
      next = groups;
    };
    if (groups <= grain) {
      work();
    } else {
      gpu::Executor& executor = gpu::executor();
      const std::size_t tasks = groups / grain + static_cast<std::size_t>(groups % grain != 0);
      executor.parallel_for(std::min<std::size_t>(tasks, executor.threads()), 1,
                            [&](std::size_t, std::size_t) { work(); });
    }
    runtime::throw_unless_done(signature_.kernel, ending);
  }

 private:
  // Which form of this kernel such threadgroups take: this one, where there is but one.
  lower::vectorize::Simdgroups form_for(pipeline::Size threads, pipeline::Size group) const {
    return abi::is_simd(kernel_.route) && kernel_.cooperative ? runtime::simdgroups_of(threads, group)
                                                              : source_.options.simdgroups;
  }

  // A Mac reads something or other where nothing is bound; here it would be a crash.
  void check_bound(const pipeline::Launch& launch) const {
    for (const air::Argument& argument : signature_.arguments) {
      if (!air::is_bound(argument.kind) || argument.unused || argument.optional || !argument.predicate.empty())
        continue;
      const bool threadgroup = argument.kind == air::ArgumentKind::kThreadgroupBuffer;
      if (threadgroup ? launch.threadgroup_bytes[argument.binding] != 0 : launch.buffers[argument.binding] != nullptr) {
        continue;
      }
      throw pipeline::KernelError(
          signature_.kernel +
          (threadgroup ? ": no length is set for threadgroup argument " : ": nothing is bound to argument ") +
          std::to_string(argument.binding) + " (" + argument.type_name + " " + argument.name + ")");
    }
  }

  void run(void* const* bindings, const abi::Geometry& geometry, std::size_t index, std::byte* memory) const {
    const pipeline::Size group = geometry.group_at(index);
    clear(memory);
    if (kernel_.route == abi::Route::kSimdCoroutines) {
      runtime::run_lanes(reinterpret_cast<runtime::SpawnLanes>(code_->entry()), bindings, geometry, group, memory);
    } else if (kernel_.route == abi::Route::kCoroutines) {
      runtime::run_threadgroup(reinterpret_cast<runtime::Spawn>(code_->entry()), kernel_.points, bindings, geometry,
                               group, memory);
    } else {
      reinterpret_cast<RunLoop>(code_->entry())(bindings, &geometry, group[0], group[1], group[2], memory);
    }
  }

  void run_validated(const pipeline::Launch& launch, std::span<void* const> bindings, const abi::Geometry& geometry,
                     std::uint64_t groups, std::size_t bytes) const {
    const runtime::FlushDenormals flush(signature_.denorms_disabled);
    std::byte* memory = threadgroup_memory(bytes);
    runtime::Validator validator({signature_, kernel_, launch, geometry, bindings, memory, bytes});
    const runtime::Ending ended = runtime::run_guarded(signature_.kernel, code_->range(), [&] {
      for (std::uint64_t index = 0; index < groups; ++index) {
        const pipeline::Size group = geometry.group_at(index);
        if (!validator.begin(group)) break;
        clear(memory);
        runtime::run_threadgroup(reinterpret_cast<runtime::Spawn>(code_->entry()), kernel_.points, bindings.data(),
                                 geometry, group, memory, &validator);
      }
    });
    runtime::throw_unless_done(signature_.kernel, ended);
    std::vector<pipeline::ValidationReport> reports = validator.finish();
    if (launch.reports == nullptr) return runtime::publish(std::move(reports));
    std::ranges::move(reports, std::back_inserter(*launch.reports));
  }

  void clear(std::byte* memory) const {
    for (const auto& [offset, size] : kernel_.threadgroup.cleared) std::memset(memory + offset, 0, size);
  }

  // The same kernel with the sanitiser, compiled when a launch first asks for it.
  pipeline::Pipeline& validated() {
    return made(validated_, [](lower::LoweringOptions& options) {
      options.validate = true;
      options.soon = false;
    });
  }

  pipeline::Pipeline& form(lower::vectorize::Simdgroups simdgroups) {
    return made(forms_[static_cast<std::size_t>(simdgroups)],
                [&](lower::LoweringOptions& options) { options.simdgroups = simdgroups; });
  }

  struct Form {
    std::once_flag once;
    std::shared_ptr<pipeline::Pipeline> pipeline;
  };
  template <typename Change>
  pipeline::Pipeline& made(Form& form, Change change) {
    std::call_once(form.once, [&] {
      lower::LoweringOptions options = source_.options;
      change(options);
      form.pipeline = source_.pipeline(options);
    });
    return *form.pipeline;
  }

  static runtime::CompiledKernel without_object(runtime::CompiledKernel kernel) {
    kernel.object = {};
    return kernel;
  }

  const air::Signature signature_;
  const Source source_;
  const std::shared_ptr<Code> code_;
  const runtime::CompiledKernel kernel_;
  const bool regroup_;  // threads may be grouped as it suits the CPU
  Form validated_;
  std::array<Form, lower::vectorize::kKindsOfSimdgroups> forms_;  // the same kernel for other simdgroups
};

}  // namespace
}  // namespace anymps::metal::engine

namespace anymps::metal::engine {

std::shared_ptr<pipeline::Pipeline> make_pipeline(const library::FunctionEntry& function,
                                                  const lower::LoweringOptions& options) {
  llvm::LLVMContext context;
  air::Signature signature =
      air::read_signature(*air::read_module(context, function.bitcode, function.name), function.name);
  pipeline::Pipeline::check_threadgroup_memory(signature);
  return std::make_shared<engine::CompiledPipeline>(std::move(signature), Source(function, options),
                                                    cached_kernel(function.bitcode, function.name, options));
}

}  // namespace anymps::metal::engine
