// Threads that wait for one another are coroutines: a thread leaves what it gives in its simdgroup, says where it
// waits, and suspends.
#include "metal/lower/workgroup/coroutines.h"

#include <llvm/IR/DebugInfoMetadata.h>

#include <cstddef>
#include <optional>

#include "metal/lower/builtins/builtin_lowering.h"
#include "metal/lower/support/kernel_parameter.h"
#include "metal/lower/workgroup/cooperative_ops.h"
#include "metal/lower/workgroup/coroutine_intrinsics.h"
#include "metal/lower/workgroup/reconvergence_order.h"
#include "metal/lower/workgroup/workgroup_frame.h"

namespace anymps::metal::lower::workgroup {
namespace {

using abi::CooperativeCall;
using abi::Simdgroup;

class CoroutineMaker {
 public:
  CoroutineMaker(llvm::Module& module, llvm::Function* kernel, std::vector<CooperativeCall>& points,
                 std::vector<std::string>& places)
      : module_(module), b_(module.getContext()), points_(points), places_(places) {
    llvm::SmallVector<llvm::Type*> types;
    for (llvm::Argument& argument : kernel->args()) types.push_back(argument.getType());
    const unsigned count = kernel->arg_size();
    types.append({b_.getPtrTy(), b_.getInt32Ty(), b_.getPtrTy()});  // simdgroup, index, frames
    thread_ = llvm::Function::Create(llvm::FunctionType::get(b_.getPtrTy(), types, false),
                                     llvm::Function::InternalLinkage, "thread", module);
    thread_->setDoesNotThrow();
    thread_->splice(thread_->end(), kernel);
    for (unsigned i = 0; i < count; ++i) {
      kernel->getArg(i)->replaceAllUsesWith(thread_->getArg(i));
      for (const llvm::Attribute attribute : kernel->getAttributes().getParamAttrs(i)) {
        thread_->addParamAttr(i, attribute);
      }
    }
    simdgroup_ = thread_->getArg(count);
    index_ = thread_->getArg(count + 1);
    frames_ = thread_->getArg(count + 2);
  }

  llvm::Function* thread() { return thread_; }
  llvm::Value* index() { return index_; }
  llvm::BasicBlock* finished() { return finished_; }

  std::string make() {
    llvm::SmallVector<llvm::CallInst*> meetings;
    llvm::SmallVector<llvm::ReturnInst*> returns;
    for (llvm::BasicBlock& block : *thread_) {
      for (llvm::Instruction& instruction : block) {
        if (auto* end = llvm::dyn_cast<llvm::ReturnInst>(&instruction)) returns.push_back(end);
        if (builtins::cooperative_call(instruction) != nullptr)
          meetings.push_back(llvm::cast<llvm::CallInst>(&instruction));
      }
    }
    begin();
    const auto meet = [this](const CooperativeCall& point) {
      points_.push_back(point);
      suspend(static_cast<std::uint32_t>(points_.size()), /*last=*/false);
    };
    CooperativeOpWriter writing(b_, given_, result_, lane_, meet);
    for (llvm::CallInst* call : meetings) {
      b_.SetInsertPoint(call);
      llvm::Value* result = nullptr;
      const std::string place = place_of(*call);
      if (!write_cooperative_op(writing, *call, result))
        return "no way to run " + call->getCalledFunction()->getName().str();
      if (result != nullptr) call->replaceAllUsesWith(result);
      call->eraseFromParent();
      places_.resize(points_.size(), place);
    }
    end(returns);
    return "";
  }

 private:
  llvm::Value* field(std::size_t offset) { return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), simdgroup_, offset); }

  void begin() {
    llvm::BasicBlock* first = &thread_->getEntryBlock();
    auto* start = llvm::BasicBlock::Create(module_.getContext(), "start", thread_, first);
    b_.SetInsertPoint(start);
    coroutine_.emplace(b_, *thread_, frames_);
    llvm::Value* lane = b_.CreateAnd(index_, abi::kLanes - 1);
    waits_ = b_.CreateInBoundsGEP(b_.getInt32Ty(), simdgroup_, lane);
    given_ = field(offsetof(Simdgroup, given));
    result_ = field(offsetof(Simdgroup, result));
    lane_ = b_.CreateZExt(lane, b_.getInt64Ty());
    b_.CreateBr(first);
    // A coroutine's variables belong in its first block, and frames are aligned to a line.
    for (auto next = first->begin(); next != first->end();) {
      auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&*next++);
      if (variable == nullptr) continue;
      variable->moveBefore(*start, start->begin());
      variable->setAlignment(std::min(variable->getAlign(), llvm::Align(kFrameAlignment)));
    }
  }

  void end(llvm::ArrayRef<llvm::ReturnInst*> returns) {
    finished_ = llvm::BasicBlock::Create(module_.getContext(), "finished", thread_);
    for (llvm::ReturnInst* old : returns) {
      b_.SetInsertPoint(old);
      b_.CreateBr(finished_);
      old->eraseFromParent();
    }
    b_.SetInsertPoint(finished_);
    b_.SetInsertPoint(b_.CreateUnreachable());
    suspend(0, /*last=*/true);
  }

  // Leaves the builder where the thread goes on.
  void suspend(std::uint32_t waits, bool last) {
    llvm::BasicBlock* block = b_.GetInsertBlock();
    llvm::BasicBlock* rest = block->splitBasicBlock(b_.GetInsertPoint());
    block->getTerminator()->eraseFromParent();
    b_.SetInsertPoint(block);
    b_.CreateStore(b_.getInt32(waits), waits_);
    coroutine_->suspend(b_, rest, last);
    b_.SetInsertPoint(rest, rest->begin());
  }

  llvm::Module& module_;
  llvm::IRBuilder<> b_;
  std::vector<CooperativeCall>& points_;
  std::vector<std::string>& places_;
  llvm::Function* thread_;
  llvm::Value* simdgroup_;
  llvm::Value* index_;
  llvm::Value* frames_;
  llvm::BasicBlock* finished_ = nullptr;
  std::optional<Coroutine> coroutine_;
  llvm::Value* waits_ = nullptr;
  llvm::Value* given_ = nullptr;
  llvm::Value* result_ = nullptr;
  llvm::Value* lane_ = nullptr;
};

}  // namespace

std::string place_of(const llvm::Instruction& instruction) {
  const llvm::DILocation* location = instruction.getDebugLoc();
  if (location == nullptr || location->getLine() == 0) return "";
  return location->getFilename().str() + ":" + std::to_string(location->getLine());
}

std::string make_coroutines(llvm::Module& module, llvm::Function* kernel,
                            std::span<const support::Parameter> parameters, std::vector<CooperativeCall>& points,
                            ThreadCoroutine& thread) {
  CoroutineMaker maker(module, kernel, points, thread.places);
  if (std::string wrong = maker.make(); !wrong.empty()) return wrong;
  constexpr unsigned kThreads = 5;
  constexpr unsigned kSimdgroups = 6;
  constexpr unsigned kFrames = 7;
  constexpr unsigned kMemory = 8;
  llvm::Type* pointer = llvm::PointerType::get(module.getContext(), 0);
  WorkgroupBuilder threads(module, parameters, {pointer, pointer, pointer, pointer}, kMemory);
  llvm::IRBuilder<>& b = threads.b();
  llvm::Function* run = threads.run();
  threads.loops(
      [&](const Three& position) {
        llvm::SmallVector<llvm::Value*> values = threads.arguments(kernel, position);
        llvm::Value* index = threads.index();
        llvm::Value* simdgroup = b.CreateZExt(b.CreateUDiv(index, b.getInt32(abi::kLanes)), b.getInt64Ty());
        values.push_back(b.CreateInBoundsGEP(b.getInt8Ty(), run->getArg(kSimdgroups),
                                             b.CreateMul(simdgroup, b.getInt64(sizeof(Simdgroup)))));
        values.push_back(index);
        values.push_back(run->getArg(kFrames));
        llvm::Value* handle = b.CreateCall(maker.thread(), values);
        b.CreateStore(handle,
                      b.CreateInBoundsGEP(b.getPtrTy(), run->getArg(kThreads), b.CreateZExt(index, b.getInt64Ty())));
      },
      nullptr);
  kernel->eraseFromParent();
  thread.function = maker.thread();
  thread.index = maker.index();
  thread.finished = maker.finished();
  return "";
}

}  // namespace anymps::metal::lower::workgroup
