#include "metal/lower/vectorize/vectorizer.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <memory>
#include <optional>

#include "metal/lower/builtins/builtin_lowering.h"
#include "metal/lower/support/counted_loop.h"
#include "metal/lower/support/pass_runner.h"
#include "metal/lower/vectorize/canonicalize.h"
#include "metal/lower/vectorize/vector_writer.h"
#include "metal/lower/workgroup/cooperative_ops.h"
#include "metal/lower/workgroup/coroutine_intrinsics.h"
#include "metal/lower/workgroup/workgroup_frame.h"

namespace anymps::metal::lower::vectorize {
namespace {

// Instructions of a thread, times the registers that a vector takes.
constexpr unsigned kMost = 20000;
constexpr unsigned kMostNew = 1000;
constexpr unsigned kShort = 250;
// Numbers of a thread that, many lanes wide, take all registers.
constexpr unsigned kLeaves = 4;

// Functions that are on the way to "run" take these, in this order, and then more.
enum Common : unsigned { kBindings, kGeometry, kGroupX, kGroupY, kGroupZ, kMemory, kCommon };

struct Cpu {
  Abilities abilities;
  unsigned floats = 4;  // in a register
};

Cpu cpu_of(const llvm::TargetMachine& target) {
  Cpu cpu;
  const llvm::MCSubtargetInfo& info = *target.getMCSubtargetInfo();
  if (!target.getTargetTriple().isX86()) return cpu;
  const bool avx2 = info.checkFeatures("+avx2");
  const bool avx512 = info.checkFeatures("+avx512f") && info.checkFeatures("+avx512vl");
  cpu.floats = avx512 ? 16 : avx2 ? 8 : 4;
  cpu.abilities.masked_words = avx2;
  cpu.abilities.masked_bytes = avx512 && info.checkFeatures("+avx512bw");
  cpu.abilities.gather = avx512;
  cpu.abilities.scatter = avx512;
  cpu.abilities.bit_masks = avx512;
  return cpu;
}

// How many numbers a thread keeps from round to round of a loop, at most.
std::size_t most_kept(const llvm::Function& kernel) {
  std::size_t most = 0;
  for (const llvm::BasicBlock& block : kernel) {
    std::size_t kept = 0;
    for (const llvm::PHINode& phi : block.phis()) {
      const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(phi.getType());
      kept += vector != nullptr ? vector->getNumElements() : 1;
    }
    most = std::max(most, kept);
  }
  return most;
}

class Vectorizer {
 public:
  Vectorizer(llvm::Module& module, llvm::Function* kernel, std::span<const support::Parameter> parameters,
             Simdgroups simdgroups, const llvm::TargetMachine& target, support::PassRunner& runner)
      : module_(module),
        context_(module.getContext()),
        kernel_(kernel),
        parameters_(parameters),
        runner_(runner),
        cpu_(cpu_of(target)),
        cooperative_ops_(workgroup::cooperative_ops_of(module)),
        cooperative_(cooperative_ops_.any()),
        lanes_(count_lanes(simdgroups)),
        some_(simdgroups == Simdgroups::kAny || simdgroups == Simdgroups::kAnyColumn),
        column_(simdgroups == Simdgroups::kColumn || simdgroups == Simdgroups::kAnyColumn),
        folded_(simdgroups != Simdgroups::kWhole && lanes_ == abi::kLanes) {}

  VectorizedRun make() {
    if (cooperative_ops_.tensors) throw CannotVectorize{"tensor operations"};
    workgroup::mark_invariant_loads(*kernel_, parameters_);
    one_ = make_thread("thread");
    // Where a vector takes many registers, the arrays that unrolling would make registers of are in memory anyway.
    // Short kernels are worth it all the same: neighbouring accesses become one.
    runner_.run_pass(support::Pass::kCanonicalize, module_, [&] {
      prepare(*one_, runner_, /*unroll=*/lanes_ <= 2 * cpu_.floats || one_->getInstructionCount() <= kShort);
    });
    // Seconds of compiling for what LLVM's register allocator then spills anyway.
    if (one_->getInstructionCount() * lanes_ / cpu_.floats > kMost) throw CannotVectorize{"it is too large"};
    llvm::ValueToValueMapTy map;
    Thread thread{llvm::CloneFunction(one_, map), lanes_};
    made_.push_back(thread.function);
    runner_.run_pass(support::Pass::kPrivatizeAllocas, module_, [&] { privatize_allocas(thread); });
    const bool in_parts = lanes_ > 2 * cpu_.floats;
    if (in_parts) separate_cooperative_calls(*thread.function);
    auto divergence = std::make_unique<Divergence>(thread, /*guards=*/!cooperative_);
    if (in_parts) {
      runner_.run_pass(support::Pass::kOutlineRegions, module_, [&] {
        outlined_ = outline_regions(thread, *divergence, 2 * cpu_.floats, kLeaves, some_);
        for (const auto& part : outlined_) made_.append({part->call, part->thread.function});
        if (!outlined_.empty()) analyse_again(thread, divergence);
      });
      for (const auto& part : outlined_) make_outlined(*part);
    }
    share(thread, divergence);
    if (cooperative_) {
      make_simdgroups(thread, *divergence);
    } else {
      make_rows(thread, *divergence);
    }
    thread.function->eraseFromParent();
    for (const auto& part : outlined_) {
      part->call->eraseFromParent();
      part->thread.function->eraseFromParent();
    }
    return cooperative_ops_.barriers ? VectorizedRun::kCoroutines : VectorizedRun::kDirect;
  }

  void take_back() {
    for (llvm::Function* function : made_) function->deleteBody();
    for (llvm::Function* function : llvm::reverse(made_)) {
      function->replaceAllUsesWith(llvm::PoisonValue::get(function->getType()));
      function->eraseFromParent();
    }
  }

 private:
  void analyse_again(const Thread& thread, std::unique_ptr<Divergence>& divergence) {
    simplify_form(*thread.function, runner_);
    divergence = std::make_unique<Divergence>(thread, /*guards=*/!cooperative_);
  }

  void share(const Thread& thread, std::unique_ptr<Divergence>& divergence) {
    runner_.run_pass(support::Pass::kSpecializeUniformBranches, module_, [&] {
      if (specialize_uniform_branches(thread, *divergence, kMostNew * cpu_.floats / thread.lanes))
        analyse_again(thread, divergence);
    });
    runner_.run_pass(support::Pass::kSplitUniformIterations, module_, [&] {
      if (split_uniform_iterations(thread, *divergence)) analyse_again(thread, divergence);
    });
  }

  void make_outlined(OutlinedRegion& part) {
    simplify_form(*part.thread.function, runner_);
    auto divergence = std::make_unique<Divergence>(part.thread, /*guards=*/false);
    share(part.thread, divergence);
    llvm::SmallVector<llvm::Type*> types;
    for (const llvm::Argument& argument : part.thread.function->args()) types.push_back(argument.getType());
    types.pop_back();
    part.lanes = function("part.lanes", llvm::Type::getVoidTy(context_), types);
    llvm::BasicBlock* entry = llvm::BasicBlock::Create(context_, "entry", part.lanes);
    Surroundings surroundings;
    surroundings.end = [](llvm::IRBuilder<>& b) { b.CreateRetVoid(); };
    Writer(part.thread, *divergence, cpu_.abilities, surroundings, *part.lanes, arguments_of(part.lanes), nullptr)
        .write(entry);
  }

  unsigned count_lanes(Simdgroups simdgroups) const {
    if (cooperative_ops_.exchanges) return abi::kLanes;
    // Two registers for each vector, to have work while one waits; one where it would be more than there are.
    constexpr unsigned kRegisters = 32;
    const bool many = most_kept(*kernel_) * 2 >= kRegisters;
    const unsigned suits = many ? cpu_.floats : cpu_.floats * 2;
    if (!cooperative_) return suits;
    // Waiting costs the same for many lanes as for few.
    const bool much = many || kernel_->getInstructionCount() > kShort;
    const bool in_rows =
        simdgroups == Simdgroups::kShort || simdgroups == Simdgroups::kWhole || simdgroups == Simdgroups::kColumn;
    return in_rows && (much || simdgroups == Simdgroups::kShort) ? std::min(kFewLanes, suits) : abi::kLanes;
  }

  llvm::SmallVector<llvm::Type*> common_types() {
    llvm::Type* pointer = llvm::PointerType::get(context_, 0);
    llvm::Type* number = llvm::Type::getInt32Ty(context_);
    return {pointer, pointer, number, number, number, pointer};
  }

  llvm::Function* function(const char* name, llvm::Type* result, llvm::ArrayRef<llvm::Type*> types) {
    auto* made = llvm::Function::Create(llvm::FunctionType::get(result, types, false), llvm::Function::InternalLinkage,
                                        name, module_);
    made->setDoesNotThrow();
    builtins::copy_denormals(*kernel_, *made);
    made_.push_back(made);
    return made;
  }

  // A thread as a function of where its lanes begin and which one it is. Threads of rows are given (x, y, z) of the
  // grid, others the index in their threadgroup.
  llvm::Function* make_thread(const char* name) {
    llvm::SmallVector<llvm::Type*> types = common_types();
    llvm::Type* number = llvm::Type::getInt32Ty(context_);
    types.append(cooperative_ ? 2 : 4, number);
    llvm::Function* thread = function(name, llvm::Type::getVoidTy(context_), types);
    workgroup::WorkgroupBuilder threads(thread, parameters_, kMemory);
    llvm::IRBuilder<>& b = threads.b();
    llvm::Value* lane = thread->getArg(thread->arg_size() - 1);
    llvm::SmallVector<llvm::Value*> arguments;
    if (!cooperative_) {
      arguments =
          threads.arguments(kernel_, workgroup::Three{b.CreateAdd(thread->getArg(kCommon), lane, "", /*HasNUW=*/true),
                                                      thread->getArg(kCommon + 1), thread->getArg(kCommon + 2)});
    } else {
      arguments = threads.arguments(kernel_, place_in_threadgroup(threads, thread->getArg(kCommon), lane));
    }
    llvm::CallInst* call = b.CreateCall(kernel_, arguments);
    b.CreateRetVoid();
    llvm::InlineFunctionInfo inlined;
    const llvm::InlineResult result = llvm::InlineFunction(*call, inlined);
    if (!result.isSuccess()) throw CannotVectorize{"a kernel that cannot be inlined"};
    inline_recursion(*thread);
    return thread;
  }

  // What calls itself, as "j1(x) is -j1(-x)" does, is still a call, which lanes would make one after the other. Most of
  // them are content with the first.
  static void inline_recursion(llvm::Function& thread) {
    llvm::SmallVector<llvm::CallInst*> calls;
    for (llvm::Instruction& instruction : llvm::instructions(thread)) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (call == nullptr || call->getCalledFunction() == nullptr) continue;
      if (!call->getCalledFunction()->isDeclaration()) calls.push_back(call);
    }
    for (llvm::CallInst* call : calls) {
      llvm::InlineFunctionInfo inlined;
      llvm::InlineFunction(*call, inlined);
    }
  }

  workgroup::Place place_in_threadgroup(workgroup::WorkgroupBuilder& threads, llvm::Value* base, llvm::Value* lane) {
    llvm::IRBuilder<>& b = threads.b();
    const workgroup::Three& size = threads.size();
    workgroup::Place place;
    // Lanes begin at a multiple of them, along a row too.
    const auto whole = [&](llvm::Value* number) { return b.CreateAnd(number, b.getInt32(~(lanes_ - 1))); };
    base = whole(base);
    place.index = b.CreateAdd(base, lane, "", /*HasNUW=*/true, /*HasNSW=*/true);
    place.simdgroup = b.CreateUDiv(base, b.getInt32(abi::kLanes));
    place.lane = lanes_ == abi::kLanes ? lane
                                       : b.CreateAdd(b.CreateURem(base, b.getInt32(abi::kLanes)), lane, "",
                                                     /*HasNUW=*/true, /*HasNSW=*/true);
    if (column_) {
      place.within = {b.getInt32(0), place.index, b.getInt32(0)};
      for (unsigned i = 0; i < 3; ++i) place.position[i] = threads.first()[i];
      place.position[1] = b.CreateAdd(b.CreateAdd(place.position[1], base, "", /*HasNUW=*/true), lane, "",
                                      /*HasNUW=*/true);
      return place;
    }
    llvm::Value* index = folded_ ? place.index : base;
    place.within[0] = b.CreateURem(index, size[0]);
    if (!folded_) place.within[0] = whole(place.within[0]);
    llvm::Value* row = b.CreateUDiv(index, size[0]);
    place.within[1] = b.CreateURem(row, size[1]);
    place.within[2] = b.CreateUDiv(row, size[1]);
    for (unsigned i = 0; i < 3; ++i) {
      place.position[i] = b.CreateAdd(threads.first()[i], place.within[i], "", /*HasNUW=*/true);
    }
    if (folded_) return place;
    place.within[0] = b.CreateAdd(place.within[0], lane, "", /*HasNUW=*/true, /*HasNSW=*/true);
    place.position[0] = b.CreateAdd(place.position[0], lane, "", /*HasNUW=*/true);
    return place;
  }

  llvm::SmallVector<llvm::Value*> arguments_of(llvm::Function* function) {
    llvm::SmallVector<llvm::Value*> values;
    for (llvm::Argument& argument : function->args()) values.push_back(&argument);
    return values;
  }

  // Rows of threads that do nothing together, and the ends of rows one by one.
  void make_rows(const Thread& thread, const Divergence& divergence) {
    llvm::SmallVector<llvm::Type*> types = common_types();
    types.append(3, llvm::Type::getInt32Ty(context_));
    llvm::Function* lanes = function("lanes", llvm::Type::getVoidTy(context_), types);
    llvm::BasicBlock* entry = llvm::BasicBlock::Create(context_, "entry", lanes);
    llvm::BasicBlock* one_by_one = nullptr;
    Surroundings surroundings;
    surroundings.end = [](llvm::IRBuilder<>& b) { b.CreateRetVoid(); };
    surroundings.one_by_one = [&] {
      if (one_by_one == nullptr) one_by_one = make_one_by_one(*lanes, thread.lanes);
      return one_by_one;
    };
    Writer(thread, divergence, cpu_.abilities, surroundings, *lanes, arguments_of(lanes), nullptr).write(entry);
    lanes->addFnAttr(llvm::Attribute::AlwaysInline);
    one_->addFnAttr(llvm::Attribute::NoInline);

    workgroup::WorkgroupBuilder threads(module_, parameters_, {llvm::PointerType::get(context_, 0)}, kMemory);
    llvm::IRBuilder<>& b = threads.b();
    threads.rows([&](const workgroup::Three& first, llvm::Value* last) {
      llvm::SmallVector<llvm::Value*> values = arguments_of(threads.run());
      values.append({first[0], first[1], first[2]});
      llvm::Value* step = b.getInt32(thread.lanes);
      llvm::Value* count = b.CreateSub(last, first[0]);
      llvm::Value* whole = b.CreateAdd(first[0], b.CreateSub(count, b.CreateURem(count, step)));
      support::counted_loop(b, first[0], whole, step, [&](llvm::Value* x) {
        values[kCommon] = x;
        b.CreateCall(lanes, values);
      });
      support::counted_loop(b, whole, last, b.getInt32(1), [&](llvm::Value* x) {
        values[kCommon] = x;
        llvm::SmallVector<llvm::Value*> with_lane = values;
        with_lane.push_back(b.getInt32(0));
        b.CreateCall(one_, with_lane);
      });
    });
  }

  llvm::BasicBlock* make_one_by_one(llvm::Function& lanes, unsigned count) {
    auto* begin = llvm::BasicBlock::Create(context_, "each", &lanes);
    llvm::IRBuilder<> b(begin);
    support::counted_loop(b, b.getInt32(0), b.getInt32(count), b.getInt32(1), [&](llvm::Value* lane) {
      llvm::SmallVector<llvm::Value*> values = arguments_of(&lanes);
      values.push_back(lane);
      b.CreateCall(one_, values);
    });
    b.CreateRetVoid();
    return begin;
  }

  // Simdgroups, each of which is a coroutine where there are barriers.
  void make_simdgroups(const Thread& thread, const Divergence& divergence) {
    const bool barriers = cooperative_ops_.barriers;
    llvm::Type* pointer = llvm::PointerType::get(context_, 0);
    llvm::Type* number = llvm::Type::getInt32Ty(context_);
    llvm::SmallVector<llvm::Type*> types = common_types();
    types.append({number, number});                  // the index of its first thread, and how many the threadgroup has
    if (barriers) types.append({pointer, pointer});  // frames, and where it says what it waits for
    llvm::Function* simdgroup = function("simdgroup", barriers ? pointer : llvm::Type::getVoidTy(context_), types);
    llvm::BasicBlock* entry = llvm::BasicBlock::Create(context_, "entry", simdgroup);
    llvm::IRBuilder<> b(entry);
    llvm::Value* active = nullptr;
    if (some_) {
      llvm::SmallVector<llvm::Constant*> counted;
      for (unsigned i = 0; i < lanes_; ++i) counted.push_back(b.getInt32(i));
      llvm::Value* left = b.CreateSub(simdgroup->getArg(kCommon + 1), simdgroup->getArg(kCommon));
      active = b.CreateICmpULT(llvm::ConstantVector::get(counted), b.CreateVectorSplat(lanes_, left));
    }
    Surroundings surroundings;
    std::optional<workgroup::Coroutine> coroutine;
    if (barriers) {
      coroutine.emplace(b, *simdgroup, simdgroup->getArg(simdgroup->arg_size() - 2));
      const auto suspend = [&](llvm::IRBuilder<>& at, bool last) {
        auto* rest = llvm::BasicBlock::Create(context_, "resumed", simdgroup);
        coroutine->suspend(at, rest, last);
        at.SetInsertPoint(rest);
      };
      const auto waits = [&, suspend](llvm::IRBuilder<>& at, std::uint32_t what) {
        at.CreateStore(at.getInt32(what), simdgroup->getArg(simdgroup->arg_size() - 1));
        suspend(at, /*last=*/false);
      };
      surroundings.barrier = [waits](llvm::IRBuilder<>& at) { waits(at, abi::kWaitsAtBarrier); };
      // Where simdgroups wait for one another, they go side by side, as on a GPU (runtime::run_threadgroup).
      if (cooperative_ops_.exchanges)
        surroundings.turn = [waits](llvm::IRBuilder<>& at) { waits(at, abi::kTakesTurns); };
      surroundings.end = [suspend](llvm::IRBuilder<>& at) {
        suspend(at, /*last=*/true);
        at.CreateUnreachable();
      };
    } else {
      surroundings.end = [](llvm::IRBuilder<>& at) { at.CreateRetVoid(); };
    }
    llvm::SmallVector<llvm::Value*> arguments = arguments_of(simdgroup);
    arguments.resize(kCommon + 1);
    surroundings.parts = &outlined_;
    Writer(thread, divergence, cpu_.abilities, surroundings, *simdgroup, arguments, active).write(entry);
    one_->eraseFromParent();
    llvm::erase(made_, one_);
    make_run(simdgroup);
  }

  void make_run(llvm::Function* simdgroup) {
    const bool barriers = cooperative_ops_.barriers;
    llvm::Type* pointer = llvm::PointerType::get(context_, 0);
    constexpr unsigned kThreads = 5;
    constexpr unsigned kWaits = 6;
    constexpr unsigned kFrames = 7;
    constexpr unsigned kMemoryOfCoroutines = 8;
    const unsigned memory = barriers ? kMemoryOfCoroutines : kMemory;
    llvm::SmallVector<llvm::Type*> more(barriers ? 4 : 1, pointer);
    workgroup::WorkgroupBuilder threads(module_, parameters_, more, memory);
    llvm::IRBuilder<>& b = threads.b();
    llvm::Function* run = threads.run();
    const workgroup::Three& size = threads.size();
    llvm::Value* count = b.CreateMul(size[0], b.CreateMul(size[1], size[2]));
    support::counted_loop(b, b.getInt32(0), count, b.getInt32(lanes_), [&](llvm::Value* base) {
      llvm::SmallVector<llvm::Value*> values;
      for (unsigned i = 0; i < kMemory; ++i) values.push_back(run->getArg(i));
      values.append({run->getArg(memory), base, count});
      llvm::Value* index = b.CreateZExt(b.CreateUDiv(base, b.getInt32(lanes_)), b.getInt64Ty());
      if (barriers) {
        llvm::Value* waits = b.CreateInBoundsGEP(b.getInt32Ty(), run->getArg(kWaits), index);
        values.append({run->getArg(kFrames), waits});
      }
      llvm::Value* handle = b.CreateCall(simdgroup, values);
      if (barriers) b.CreateStore(handle, b.CreateInBoundsGEP(b.getPtrTy(), run->getArg(kThreads), index));
    });
    if (barriers) {
      // The last: none.
      llvm::Value* many =
          b.CreateZExt(b.CreateUDiv(b.CreateAdd(count, b.getInt32(lanes_ - 1)), b.getInt32(lanes_)), b.getInt64Ty());
      b.CreateStore(llvm::ConstantPointerNull::get(b.getPtrTy()),
                    b.CreateInBoundsGEP(b.getPtrTy(), run->getArg(kThreads), many));
    }
    b.CreateRetVoid();
  }

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::Function* kernel_;
  std::span<const support::Parameter> parameters_;
  support::PassRunner& runner_;
  const Cpu cpu_;
  const workgroup::CooperativeOps cooperative_ops_;
  const bool cooperative_;
  const unsigned lanes_;
  const bool some_;    // lanes may be missing
  const bool column_;  // a threadgroup is one column
  const bool folded_;  // lanes go over more than one row
  OutlinedRegions outlined_;
  llvm::Function* one_ = nullptr;
  llvm::SmallVector<llvm::Function*> made_;
};

}  // namespace

std::string vectorize_kernel(llvm::Module& module, llvm::Function* kernel,
                             std::span<const support::Parameter> parameters, Simdgroups simdgroups,
                             const llvm::TargetMachine& target, support::PassRunner& runner, VectorizedRun& run) {
  Vectorizer maker(module, kernel, parameters, simdgroups, target, runner);
  try {
    run = maker.make();
  } catch (const CannotVectorize& decline) {
    maker.take_back();
    return decline.why;
  }
  kernel->eraseFromParent();
  return "";
}

}  // namespace anymps::metal::lower::vectorize
