#include "metal/interpret/interpreter.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <mutex>

#include "metal/interpret/machine.h"
#include "metal/interpret/memory.h"
#include "metal/interpret/translate.h"
#include "metal/runtime/flush_denormals.h"
#include "metal/runtime/watched_run.h"

namespace anymps::metal::interpret {
namespace {

constexpr unsigned kMostThreads = 1024;

constexpr std::uint32_t rounds(std::uint32_t threads, std::uint32_t size) {
  return threads / size + (threads % size != 0 ? 1 : 0);
}
constexpr std::uint32_t volume(const pipeline::Size& size) { return size[0] * size[1] * size[2]; }

// Where a thread is. Threads of a threadgroup are counted along x, then y, then z.
struct Place {
  pipeline::Size grid;    // threads
  pipeline::Size full;    // threads of a threadgroup that is not at the edge
  pipeline::Size group;   // the position of this one
  pipeline::Size size;    // its threads
  pipeline::Size groups;  // how many there are
  std::uint32_t index = 0;

  pipeline::Size value(air::ArgumentKind kind) const {
    const pipeline::Size within{index % size[0], index / size[0] % size[1], index / size[0] / size[1]};
    switch (kind) {
      case air::ArgumentKind::kThreadPositionInGrid:
        return {group[0] * full[0] + within[0], group[1] * full[1] + within[1], group[2] * full[2] + within[2]};
      case air::ArgumentKind::kThreadPositionInThreadgroup:
        return within;
      case air::ArgumentKind::kThreadgroupPositionInGrid:
        return group;
      case air::ArgumentKind::kThreadsPerGrid:
        return grid;
      case air::ArgumentKind::kThreadsPerThreadgroup:
        return size;
      case air::ArgumentKind::kThreadgroupsPerGrid:
        return groups;
      case air::ArgumentKind::kDispatchThreadsPerThreadgroup:
        return full;
      case air::ArgumentKind::kThreadIndexInThreadgroup:
        return {index};
      case air::ArgumentKind::kThreadIndexInSimdgroup:
        return {index % kLanes};
      case air::ArgumentKind::kThreadIndexInQuadgroup:
        return {index % kQuad};
      case air::ArgumentKind::kSimdgroupIndexInThreadgroup:
        return {index / kLanes};
      case air::ArgumentKind::kQuadgroupIndexInThreadgroup:
        return {index / kQuad};
      case air::ArgumentKind::kThreadsPerSimdgroup:
        return {kLanes};
      case air::ArgumentKind::kSimdgroupsPerThreadgroup:
        return {rounds(volume(size), kLanes)};
      case air::ArgumentKind::kQuadgroupsPerThreadgroup:
        return {rounds(volume(size), kQuad)};
      case air::ArgumentKind::kDispatchSimdgroupsPerThreadgroup:
        return {rounds(volume(full), kLanes)};
      case air::ArgumentKind::kDispatchQuadgroupsPerThreadgroup:
        return {rounds(volume(full), kQuad)};
      case air::ArgumentKind::kBuffer:
      case air::ArgumentKind::kIndirectBuffer:
      case air::ArgumentKind::kThreadgroupBuffer:
        break;
    }
    return {};
  }
};

class InterpretedPipeline final : public pipeline::Pipeline {
 public:
  InterpretedPipeline(const library::FunctionEntry& function, const abi::ConstantValues& constants)
      : module_(air::read_module(context_, function.bitcode, function.name)),
        signature_(air::read_signature(*module_, function.name)),
        memory_(*module_, signature_, constants),
        translator_(memory_),
        kernel_(translator_.function(*module_->getFunction(function.name))) {
    check_threadgroup_memory(signature_);
    run_initialisers();
  }

  const air::Signature& signature() const override { return signature_; }
  abi::Route route() const override { return abi::Route::kCoroutines; }  // threads can wait for one another

  void launch(const pipeline::Launch& launch, pipeline::Size threads, pipeline::Size group) override {
    check_launch(threads, group);
    // The threadgroup's memory is there once.
    const std::lock_guard lock(mutex_);
    const runtime::FlushDenormals flush(signature_.denorms_disabled);
    const runtime::WatchedRun watched;
    threadgroup_arguments_.clear();
    for (const std::size_t bytes : launch.threadgroup_bytes) threadgroup_arguments_.emplace_back(bytes);
    Place place{.grid = threads, .full = group, .group = {}, .size = {}, .groups = {}, .index = 0};
    for (unsigned i = 0; i < 3; ++i) place.groups[i] = rounds(threads[i], group[i]);
    for (place.group[2] = 0; place.group[2] < place.groups[2]; ++place.group[2]) {
      for (place.group[1] = 0; place.group[1] < place.groups[1]; ++place.group[1]) {
        for (place.group[0] = 0; place.group[0] < place.groups[0]; ++place.group[0]) {
          for (unsigned i = 0; i < 3; ++i) place.size[i] = std::min(group[i], threads[i] - place.group[i] * group[i]);
          run(launch, place);
        }
      }
    }
  }

 private:
  // Functions that Apple's compiler leaves for what is computed from function constants.
  void run_initialisers() {
    const llvm::GlobalVariable* list = module_->getNamedGlobal("llvm.global_ctors");
    if (list == nullptr || !list->hasInitializer()) return;
    for (const llvm::Use& entry : list->getInitializer()->operands()) {
      const auto* function = llvm::dyn_cast<llvm::Function>(llvm::cast<llvm::Constant>(entry)->getAggregateElement(1U));
      if (function == nullptr) continue;
      std::vector<Simdgroup> alone(1);
      alone[0].begin(translator_.function(*function), 1);
      run_threadgroup(function->getName().str(), alone);
    }
  }

  void run(const pipeline::Launch& launch, Place& place) {
    memory_.begin_threadgroup();
    for (const AlignedBytes& bytes : threadgroup_arguments_) std::fill_n(bytes.data(), bytes.size(), kStale);
    const std::uint32_t threads = volume(place.size);
    simdgroups_.resize(rounds(threads, kLanes));
    for (std::uint32_t first = 0; first < threads; first += kLanes) {
      const std::uint32_t count = std::min(threads - first, kLanes);
      Simdgroup& simdgroup = simdgroups_[first / kLanes];
      simdgroup.begin(kernel_, count == kLanes ? ~Mask{0} : bit_of(count) - 1, first / kLanes);
      const Lanes lanes = simdgroup.arguments();
      lanes.each([&](unsigned lane) {
        place.index = first + lane;
        for (const air::Argument& argument : signature_.arguments) give(lanes, lane, argument, launch, place);
      });
    }
    run_threadgroup(kernel_.name, simdgroups_);
  }

  void give(const Lanes& lanes, unsigned lane, const air::Argument& argument, const pipeline::Launch& launch,
            const Place& place) {
    const Operand& parameter = kernel_.parameters[argument.parameter];
    if (air::is_bound(argument.kind)) {
      const void* pointer = argument.kind == air::ArgumentKind::kThreadgroupBuffer
                                ? threadgroup_arguments_[argument.binding].data()
                                : launch.buffers[argument.binding];
      lanes.set_bits(parameter, lane, 0, reinterpret_cast<std::uintptr_t>(pointer));
      return;
    }
    const pipeline::Size value = place.value(argument.kind);
    for (unsigned i = 0; i < parameter.shape.count; ++i) lanes.set_bits(parameter, lane, i, value[i]);
  }

  llvm::LLVMContext context_;
  const std::unique_ptr<llvm::Module> module_;
  const air::Signature signature_;
  ModuleMemory memory_;
  Translator translator_;
  const Function& kernel_;
  std::mutex mutex_;
  std::vector<AlignedBytes> threadgroup_arguments_;  // by binding
  std::vector<Simdgroup> simdgroups_;
};

}  // namespace

std::shared_ptr<pipeline::Pipeline> make_interpreter(const library::FunctionEntry& function,
                                                     const abi::ConstantValues& constants) {
  return std::make_shared<InterpretedPipeline>(function, constants);
}

}  // namespace anymps::metal::interpret
