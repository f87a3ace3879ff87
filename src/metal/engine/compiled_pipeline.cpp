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
#include "gpu/round_up.h"
#include "metal/engine/code.h"
#include "metal/engine/compiler.h"
#include "metal/engine/flush_denormals.h"
#include "metal/engine/guarded_memory.h"
#include "metal/engine/kernel_guard.h"
#include "metal/engine/reports.h"
#include "metal/engine/scheduler.h"
#include "metal/engine/simdgroups.h"
#include "metal/engine/source.h"
#include "metal/engine/validator.h"
#include "metal/pipeline.h"

namespace anymps::metal::engine {
namespace {

using RunLoop = void (*)(void* const* bindings, const Geometry* geometry, std::uint32_t x, std::uint32_t y,
                         std::uint32_t z, std::byte* threadgroup_memory);

constexpr std::size_t kThreadgroupAlignment = 64;
// Threads that are worth handing to another core.
constexpr std::size_t kThreadsPerTask = 8192;

// A threadgroup's memory: one per thread of the CPU, used again for the next. Its end lies at a guard page.
std::byte* threadgroup_memory(std::size_t bytes) {
  static thread_local std::optional<GuardedMemory> memory;
  const std::size_t size = gpu::round_up(bytes, kThreadgroupAlignment) + kThreadgroupMargin;
  if (!memory || static_cast<std::size_t>(memory->end() - memory->begin()) < size + kThreadgroupMargin) {
    memory.reset();
    memory.emplace(Guarded::kThreadgroupMemory, size + kThreadgroupMargin);
  }
  return memory->end() - size;
}

// Whether a kernel can tell how its threads are grouped: by asking, or through memory that a threadgroup shares.
bool sees_threadgroups(const Signature& signature, const lower::ThreadgroupLayout& layout) {
  if (layout.bytes != 0) return true;
  return std::ranges::any_of(signature.arguments, [](const Argument& argument) {
    switch (argument.kind) {
      case ArgumentKind::kBuffer:
      case ArgumentKind::kIndirectBuffer:
      case ArgumentKind::kThreadPositionInGrid:
      case ArgumentKind::kThreadsPerGrid:
      case ArgumentKind::kThreadsPerSimdgroup:
        return false;
      default:
        return true;
    }
  });
}

class CompiledPipeline final : public Pipeline {
 public:
  CompiledPipeline(Signature signature, Source source, CompiledKernel kernel)
      : signature_(std::move(signature)),
        source_(std::move(source)),
        code_(Code::load(kernel.object, source_.name)),
        kernel_(without_object(std::move(kernel))),
        regroup_(!lower::is_of_coroutines(kernel_.route) && !kernel_.meets &&
                 !sees_threadgroups(signature_, kernel_.threadgroup)) {}

  const Signature& signature() const override { return signature_; }
  lower::Route route() const override { return kernel_.route; }

  void launch(const Launch& launch, Size threads, Size group) override {
    if (launch.validate && !source_.options.validate) return validated().launch(launch, threads, group);
    check_launch(threads, group);
    check_bound(launch);
    if (const auto wanted = form_for(threads, group); wanted != source_.options.simdgroups) {
      return form(wanted).launch(launch, threads, group);
    }
    // Nobody can tell, and a long loop is worth more than many short ones.
    if (regroup_) group = {std::min<std::uint32_t>(threads[0], kThreadsPerTask), 1, 1};
    Geometry geometry{.grid = threads, .threadgroup = group, .groups = {}};
    std::uint64_t groups = 1;
    for (unsigned i = 0; i < 3; ++i) {
      geometry.groups[i] = threads[i] / group[i] + static_cast<std::uint32_t>(threads[i] % group[i] != 0);
      groups *= geometry.groups[i];
    }
    std::array<void*, kSlots> bindings{};
    std::ranges::copy(launch.buffers, bindings.begin());
    std::size_t memory = kernel_.threadgroup.bytes;
    for (unsigned i = 0; i < kMaxBindings; ++i) {
      bindings[slot_of(ArgumentKind::kThreadgroupBuffer, i)] = reinterpret_cast<void*>(memory);
      memory += gpu::round_up(launch.threadgroup_bytes[i], kThreadgroupAlignment);
    }
    if (source_.options.validate) return run_validated(launch, bindings, geometry, groups, memory);
    const std::size_t threads_in_group = std::size_t{group[0]} * group[1] * group[2];
    const std::size_t grain = std::max<std::size_t>(1, kThreadsPerTask / threads_in_group);
    // Whoever is done takes the next few: threadgroups differ, and so do cores.
    std::atomic<std::size_t> next = 0;
    std::atomic<Ending> ending = Ending::kDone;
    const auto work = [&] {
      const FlushDenormals flush(signature_.denorms_disabled);
      std::byte* own = threadgroup_memory(memory);
      const Ending ended = run_guarded(signature_.kernel, code_->range(), [&] {
        for (;;) {
          const std::size_t begin = next.fetch_add(grain, std::memory_order_relaxed);
          if (begin >= groups) return;
          const std::size_t end = std::min<std::size_t>(begin + grain, groups);
          for (std::size_t index = begin; index < end; ++index) run(bindings.data(), geometry, index, own);
        }
      });
      if (ended == Ending::kDone) return;
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
    throw_unless_done(signature_.kernel, ending);
  }

 private:
  // Which form of this kernel such threadgroups take: this one, where there is but one.
  lower::Simdgroups form_for(Size threads, Size group) const {
    return lower::is_simd(kernel_.route) && kernel_.meets ? simdgroups_of(threads, group) : source_.options.simdgroups;
  }

  // A Mac reads something or other where nothing is bound; here it would be a crash.
  void check_bound(const Launch& launch) const {
    for (const Argument& argument : signature_.arguments) {
      if (!is_bound(argument.kind) || argument.unused || argument.optional || !argument.predicate.empty()) continue;
      const bool threadgroup = argument.kind == ArgumentKind::kThreadgroupBuffer;
      if (threadgroup ? launch.threadgroup_bytes[argument.binding] != 0 : launch.buffers[argument.binding] != nullptr) {
        continue;
      }
      throw KernelError(
          signature_.kernel +
          (threadgroup ? ": no length is set for threadgroup argument " : ": nothing is bound to argument ") +
          std::to_string(argument.binding) + " (" + argument.type_name + " " + argument.name + ")");
    }
  }

  void run(void* const* bindings, const Geometry& geometry, std::size_t index, std::byte* memory) const {
    const Size group = geometry.group_at(index);
    clear(memory);
    if (kernel_.route == lower::Route::kSimdCoroutines) {
      run_lanes(reinterpret_cast<SpawnLanes>(code_->entry()), bindings, geometry, group, memory);
    } else if (kernel_.route == lower::Route::kCoroutines) {
      run_threadgroup(reinterpret_cast<Spawn>(code_->entry()), kernel_.points, bindings, geometry, group, memory);
    } else {
      reinterpret_cast<RunLoop>(code_->entry())(bindings, &geometry, group[0], group[1], group[2], memory);
    }
  }

  void run_validated(const Launch& launch, std::span<void* const> bindings, const Geometry& geometry,
                     std::uint64_t groups, std::size_t bytes) const {
    const FlushDenormals flush(signature_.denorms_disabled);
    std::byte* memory = threadgroup_memory(bytes);
    Validator validator({signature_, kernel_, launch, geometry, bindings, memory, bytes});
    const Ending ended = run_guarded(signature_.kernel, code_->range(), [&] {
      for (std::uint64_t index = 0; index < groups; ++index) {
        const Size group = geometry.group_at(index);
        if (!validator.begin(group)) break;
        clear(memory);
        run_threadgroup(reinterpret_cast<Spawn>(code_->entry()), kernel_.points, bindings.data(), geometry, group,
                        memory, &validator);
      }
    });
    throw_unless_done(signature_.kernel, ended);
    std::vector<ValidationReport> reports = validator.finish();
    if (launch.reports == nullptr) return publish(std::move(reports));
    std::ranges::move(reports, std::back_inserter(*launch.reports));
  }

  void clear(std::byte* memory) const {
    for (const auto& [offset, size] : kernel_.threadgroup.cleared) std::memset(memory + offset, 0, size);
  }

  // The same kernel with the sanitiser, compiled when a launch first asks for it.
  Pipeline& validated() {
    return made(validated_, [](lower::LoweringOptions& options) {
      options.validate = true;
      options.soon = false;
    });
  }

  Pipeline& form(lower::Simdgroups simdgroups) {
    return made(forms_[static_cast<std::size_t>(simdgroups)],
                [&](lower::LoweringOptions& options) { options.simdgroups = simdgroups; });
  }

  struct Form {
    std::once_flag once;
    std::shared_ptr<Pipeline> pipeline;
  };
  template <typename Change>
  Pipeline& made(Form& form, Change change) {
    std::call_once(form.once, [&] {
      lower::LoweringOptions options = source_.options;
      change(options);
      form.pipeline = source_.pipeline(options);
    });
    return *form.pipeline;
  }

  static CompiledKernel without_object(CompiledKernel kernel) {
    kernel.object = {};
    return kernel;
  }

  const Signature signature_;
  const Source source_;
  const std::shared_ptr<Code> code_;
  const CompiledKernel kernel_;
  const bool regroup_;  // threads may be grouped as it suits the CPU
  Form validated_;
  std::array<Form, lower::kKindsOfSimdgroups> forms_;  // the same kernel for other simdgroups
};

}  // namespace
}  // namespace anymps::metal::engine

namespace anymps::metal {

std::shared_ptr<Pipeline> make_pipeline(const FunctionEntry& function, const lower::LoweringOptions& options) {
  llvm::LLVMContext context;
  Signature signature = read_signature(*read_module(context, function.bitcode, function.name), function.name);
  Pipeline::check_threadgroup_memory(signature);
  return std::make_shared<engine::CompiledPipeline>(std::move(signature), engine::Source(function, options),
                                                    engine::cached_kernel(function.bitcode, function.name, options));
}

}  // namespace anymps::metal
