#include "metal/lower/transform/uniform_loop_once.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/LCSSA.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>

#include "metal/air/signature.h"
#include "metal/lower/builtins/builtin_lowering.h"
#include "metal/lower/support/pass_runner.h"
#include "metal/lower/workgroup/cooperative_ops.h"

namespace anymps::metal::lower::transform {
namespace {

// Whether all threads of a threadgroup are given the same.
bool is_shared_role(support::Role role) {
  switch (role) {
    case support::Role::kPositionInGrid:
    case support::Role::kPositionInThreadgroup:
    case support::Role::kIndexInThreadgroup:
    case support::Role::kIndexInSimdgroup:
    case support::Role::kSimdgroupIndex:
    case support::Role::kIndexInQuadgroup:
    case support::Role::kQuadgroupIndex:
      return false;
    default:
      return true;
  }
}

// One loop, of which its barrier and all that it may depend on are known.
class Candidate {
 public:
  Candidate(const llvm::Loop& loop, std::span<const support::Parameter> parameters)
      : loop_(loop), parameters_(parameters) {}

  bool is_good(const llvm::PostDominatorTree& always) {
    const llvm::BasicBlock* before = loop_.getLoopPreheader();
    const llvm::BasicBlock* behind = loop_.getUniqueExitBlock();
    if (before == nullptr || behind == nullptr || behind->phis().empty() || !loop_.hasDedicatedExits()) return false;
    // Every thread comes here, once.
    if (!always.dominates(before, &before->getParent()->getEntryBlock())) return false;
    barrier_ = barrier_at_end_of(*before);
    if (barrier_ == nullptr) return false;
    for (const llvm::BasicBlock* block : loop_.blocks()) {
      if (!llvm::all_of(*block, [&](const llvm::Instruction& instruction) { return is_shared_step(instruction); })) {
        return false;
      }
    }
    return llvm::all_of(behind->phis(), [](const llvm::PHINode& phi) {
      return llvm::all_of(phi.incoming_values(), [](const llvm::Value* value) {
        return value->getType()->isSized() && !value->getType()->isPointerTy();
      });
    });
  }

 private:
  // The barrier behind which nothing is written and nobody met.
  static const llvm::Instruction* barrier_at_end_of(const llvm::BasicBlock& block) {
    for (const llvm::Instruction& instruction : llvm::reverse(block)) {
      if (const llvm::CallInst* call = builtins::cooperative_call(instruction)) {
        return builtins::is_threadgroup_barrier(call->getCalledFunction()->getName()) ? call : nullptr;
      }
      if (instruction.mayWriteToMemory()) return nullptr;
    }
    return nullptr;
  }

  // Within the loop, where the other instructions are asked the same.
  bool is_shared_step(const llvm::Instruction& instruction) {
    if (builtins::cooperative_call(instruction) != nullptr || instruction.mayWriteToMemory() || instruction.isAtomic())
      return false;
    if (llvm::isa<llvm::AllocaInst>(instruction) || instruction.isVolatile()) return false;
    return llvm::all_of(instruction.operands(), [&](const llvm::Value* operand) {
      const auto* made = llvm::dyn_cast<llvm::Instruction>(operand);
      return (made != nullptr && loop_.contains(made)) || is_shared_value(*operand);
    });
  }

  // Made outside of the loop.
  bool is_shared_value(const llvm::Value& value) {
    if (const auto* argument = llvm::dyn_cast<llvm::Argument>(&value)) {
      return is_shared_role(parameters_[argument->getArgNo()].role);
    }
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(&value);
    if (instruction == nullptr) return true;  // constants and blocks
    if (llvm::isa<llvm::PHINode, llvm::AllocaInst>(instruction) || builtins::cooperative_call(*instruction) != nullptr)
      return false;
    // What was read before the barrier may have been another value for another thread.
    const bool reads = instruction->mayReadOrWriteMemory();
    if (reads && (!llvm::isa<llvm::LoadInst>(instruction) || !llvm::cast<llvm::LoadInst>(instruction)->isSimple() ||
                  instruction->getParent() != barrier_->getParent() || instruction->comesBefore(barrier_))) {
      return false;
    }
    return llvm::all_of(instruction->operands(), [&](const llvm::Value* operand) { return is_shared_value(*operand); });
  }

  const llvm::Loop& loop_;
  std::span<const support::Parameter> parameters_;
  const llvm::Instruction* barrier_ = nullptr;
};

// before: [barrier] -> loop -> behind, and if the result is there: before -> found -> behind.
void leave_result(llvm::Loop& loop, llvm::DominatorTree& dominators, llvm::LoopInfo& loops) {
  llvm::BasicBlock* before = loop.getLoopPreheader();
  llvm::BasicBlock* behind = loop.getUniqueExitBlock();
  llvm::Function& kernel = *before->getParent();
  llvm::LLVMContext& context = kernel.getContext();
  llvm::SmallVector<llvm::BasicBlock*> exits(llvm::predecessors(behind));
  llvm::BasicBlock* leave =
      llvm::SplitBlockPredecessors(behind, exits, ".leave", &dominators, &loops, nullptr, /*PreserveLCSSA=*/true);

  llvm::SmallVector<llvm::PHINode*> results;
  llvm::SmallVector<llvm::Type*> types{llvm::Type::getInt32Ty(context)};
  for (llvm::PHINode& phi : behind->phis()) {
    results.push_back(&phi);
    types.push_back(phi.getType());
  }
  auto* type = llvm::StructType::get(context, types);
  // That it begins with zeros is what `cleared` says of it (ThreadgroupLayout).
  auto* kept = new llvm::GlobalVariable(*kernel.getParent(), type, false, llvm::GlobalValue::InternalLinkage,
                                        llvm::Constant::getNullValue(type), "once", nullptr,
                                        llvm::GlobalValue::NotThreadLocal, air::kThreadgroupSpace);
  auto* found = llvm::BasicBlock::Create(context, "found", &kernel, behind);
  llvm::IRBuilder<> b(before->getTerminator());
  llvm::Value* there = b.CreateICmpNE(b.CreateLoad(types[0], kept), b.getInt32(0));
  llvm::BasicBlock* header = loop.getHeader();
  auto* enter = llvm::BasicBlock::Create(context, "enter", &kernel, header);
  llvm::ReplaceInstWithInst(before->getTerminator(), llvm::BranchInst::Create(found, enter, there));
  llvm::BranchInst::Create(header, enter);
  header->replacePhiUsesWith(before, enter);

  b.SetInsertPoint(found);
  llvm::BranchInst* back = b.CreateBr(behind);
  for (unsigned i = 0; i < results.size(); ++i) {
    b.SetInsertPoint(leave->getTerminator());
    b.CreateStore(results[i]->getIncomingValueForBlock(leave), b.CreateStructGEP(type, kept, i + 1));
    b.SetInsertPoint(back);
    results[i]->addIncoming(b.CreateLoad(types[i + 1], b.CreateStructGEP(type, kept, i + 1)), found);
  }
  b.SetInsertPoint(leave->getTerminator());
  b.CreateStore(b.getInt32(1), kept);
}

}  // namespace

void run_uniform_loops_once(llvm::Function& kernel, std::span<const support::Parameter> parameters,
                            support::PassRunner& runner) {
  if (!workgroup::cooperative_ops_of(*kernel.getParent()).barriers) return;
  if (llvm::LoopInfo(llvm::DominatorTree(kernel)).empty()) return;
  llvm::FunctionPassManager form;
  form.addPass(llvm::LoopSimplifyPass());
  form.addPass(llvm::LCSSAPass());
  runner.run(form, kernel);
  llvm::DominatorTree dominators(kernel);
  const llvm::PostDominatorTree always(kernel);
  llvm::LoopInfo loops(dominators);
  llvm::SmallVector<llvm::Loop*> good;
  for (llvm::Loop* loop : loops) {
    if (Candidate(*loop, parameters).is_good(always)) good.push_back(loop);
  }
  for (llvm::Loop* loop : good) leave_result(*loop, dominators, loops);
}

}  // namespace anymps::metal::lower::transform
