#include "metal/lower/vectorize/canonicalize.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/SmallSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/Utils/Local.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/GetElementPtrTypeIterator.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/IndVarSimplify.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopRotation.h>
#include <llvm/Transforms/Scalar/LoopUnrollPass.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/FixIrreducible.h>
#include <llvm/Transforms/Utils/LCSSA.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/Utils/LowerSwitch.h>
#include <llvm/Transforms/Utils/UnifyFunctionExitNodes.h>
#include <llvm/Transforms/Vectorize/LoadStoreVectorizer.h>

#include "metal/lower/builtins/builtin_lowering.h"
#include "metal/lower/support/pass_runner.h"
#include "metal/lower/workgroup/canonical_latches.h"

namespace anymps::metal::lower::vectorize {
namespace {

// LLVM may make two loops of one that goes on from two places. To a thread they are the same, but lanes would then wait
// for each other elsewhere.
void give_each_loop_one_latch(llvm::Function& function) {
  const auto has_more = [](const llvm::Loop& loop, const llvm::DominatorTree&) {
    return loop.getLoopLatch() == nullptr;
  };
  workgroup::canonicalize_latches(function, has_more, [](llvm::BasicBlock&) {});
}

// What lanes do together must not be moved to where other lanes are. Apple's compiler says so, others may not.
void mark_meetings(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration() && builtins::is_cooperative(function.getName())) function.setConvergent();
  }
}

// "out[i] = in[i]" of a structure or a vector is a copy of bytes. Short ones become accesses of words, which lanes can
// do together.
void spell_out_copies(llvm::Function& function) {
  constexpr std::uint64_t kLongest = 64;
  constexpr std::uint64_t kWord = 4;
  llvm::SmallVector<llvm::MemTransferInst*> copies;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(&instruction);
    if (copy == nullptr || copy->isVolatile()) continue;
    const auto* length = llvm::dyn_cast<llvm::ConstantInt>(copy->getLength());
    if (length != nullptr && length->getZExtValue() <= kLongest && length->getZExtValue() % kWord == 0) {
      copies.push_back(copy);
    }
  }
  for (llvm::MemTransferInst* copy : copies) {
    llvm::IRBuilder<> b(copy);
    const std::uint64_t words = llvm::cast<llvm::ConstantInt>(copy->getLength())->getZExtValue() / kWord;
    if (words != 0) {
      llvm::Type* type = b.getInt32Ty();
      if (words > 1) type = llvm::FixedVectorType::get(type, static_cast<unsigned>(words));
      llvm::Value* value = b.CreateAlignedLoad(type, copy->getRawSource(), copy->getSourceAlign().valueOrOne());
      b.CreateAlignedStore(value, copy->getRawDest(), copy->getDestAlign().valueOrOne());
    }
    copy->eraseFromParent();
  }
}

// Where ways meet that have all computed the same (LLVM's GVN likes to), it is computed again: it would be a value by
// which lanes differ, and is none.
class SamePhisPass : public llvm::PassInfoMixin<SamePhisPass> {
 public:
  // NOLINTNEXTLINE(readability-identifier-naming): LLVM's name
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
    const auto& tree = analyses.getResult<llvm::DominatorTreeAnalysis>(function);
    for (llvm::BasicBlock* block : llvm::ReversePostOrderTraversal<llvm::Function*>(&function)) {
      for (llvm::PHINode& phi : llvm::make_early_inc_range(block->phis())) {
        const llvm::Instruction* same = computed(phi, tree);
        if (same == nullptr) continue;
        llvm::Instruction* again = same->clone();
        again->insertInto(block, block->getFirstInsertionPt());
        phi.replaceAllUsesWith(again);
        phi.eraseFromParent();
      }
    }
    return llvm::PreservedAnalyses::none();
  }

 private:
  static const llvm::Instruction* computed(const llvm::PHINode& phi, const llvm::DominatorTree& tree) {
    const auto* first = llvm::dyn_cast<llvm::Instruction>(phi.getIncomingValue(0));
    if (phi.getNumIncomingValues() < 2 || first == nullptr || llvm::isa<llvm::PHINode>(first)) return nullptr;
    if (!llvm::isSafeToSpeculativelyExecute(first) || first->mayReadOrWriteMemory()) return nullptr;
    for (const llvm::Value* value : phi.incoming_values()) {
      const auto* other = llvm::dyn_cast<llvm::Instruction>(value);
      if (other == nullptr || !other->isIdenticalTo(first)) return nullptr;
    }
    const bool known = llvm::all_of(first->operands(), [&](const llvm::Use& operand) {
      const auto* instruction = llvm::dyn_cast<llvm::Instruction>(operand);
      return instruction == nullptr || tree.properlyDominates(instruction->getParent(), phi.getParent());
    });
    return known ? first : nullptr;
  }
};

// LoadStoreVectorizer takes two addresses from one pointer for neighbours where their indices are, even if one counts
// halves and the other pairs of them (LLVM 19). Where a pointer is counted from in several units, all count bytes.
class CountInBytesPass : public llvm::PassInfoMixin<CountInBytesPass> {
 public:
  // NOLINTNEXTLINE(readability-identifier-naming): LLVM's name
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
    const llvm::DataLayout& layout = function.getDataLayout();
    llvm::MapVector<llvm::Value*, llvm::SmallVector<llvm::GetElementPtrInst*>> addresses;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction);
      if (address == nullptr || address->getType()->isVectorTy() || address->hasAllConstantIndices()) continue;
      addresses[address->getPointerOperand()].push_back(address);
    }
    for (const auto& [pointer, of_it] : addresses) {
      llvm::SmallSet<std::uint64_t, 4> units;
      for (const llvm::GetElementPtrInst* address : of_it) units.insert(unit_of(*address, layout));
      if (units.size() < 2) continue;
      for (llvm::GetElementPtrInst* address : of_it) {
        llvm::IRBuilder<> b(address);
        llvm::Value* offset = llvm::emitGEPOffset(&b, layout, address);
        address->replaceAllUsesWith(
            b.CreatePtrAdd(address->getPointerOperand(), offset, "", address->getNoWrapFlags()));
        address->eraseFromParent();
      }
    }
    return llvm::PreservedAnalyses::none();
  }

 private:
  // What the last index counts.
  static std::uint64_t unit_of(const llvm::GetElementPtrInst& address, const llvm::DataLayout& layout) {
    auto step = llvm::gep_type_begin(address);
    for (unsigned i = 1; i < address.getNumIndices(); ++i) ++step;
    return step.isStruct() ? 0 : step.getSequentialElementStride(layout).getFixedValue();
  }
};

// Only loops of one block that become a few instructions are to be unrolled: their accesses may then become one.
class KeepLongLoopsPass : public llvm::PassInfoMixin<KeepLongLoopsPass> {
 public:
  // NOLINTNEXTLINE(readability-identifier-naming): LLVM's name
  llvm::PreservedAnalyses run(llvm::Loop& loop, llvm::LoopAnalysisManager&, llvm::LoopStandardAnalysisResults& known,
                              llvm::LPMUpdater&) {
    constexpr std::size_t kFew = 160;
    const unsigned rounds = known.SE.getSmallConstantTripCount(&loop);
    const bool few = rounds != 0 && rounds * loop.getHeader()->size() <= kFew;
    if (!few || loop.getNumBlocks() != 1) loop.setLoopAlreadyUnrolled();
    return llvm::PreservedAnalyses::all();
  }
};

void add_form(llvm::FunctionPassManager& passes) {
  passes.addPass(llvm::LoopSimplifyPass());
  // The last: a pass that simplifies would take its phis away again.
  passes.addPass(llvm::LCSSAPass());
}

}  // namespace

void prepare(llvm::Function& function, support::PassRunner& runner, bool unroll) {
  mark_meetings(*function.getParent());
  give_each_loop_one_latch(function);
  spell_out_copies(function);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::InstCombinePass());
  llvm::LoopPassManager of_loops;
  of_loops.addPass(llvm::LoopRotatePass());
  of_loops.addPass(llvm::IndVarSimplifyPass(/*WidenIndVars=*/false));
  if (!unroll) of_loops.addPass(KeepLongLoopsPass());
  of_loops.addPass(llvm::LoopFullUnrollPass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(of_loops)));
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  // A thread's neighbouring accesses are one.
  passes.addPass(CountInBytesPass());
  passes.addPass(llvm::LoadStoreVectorizerPass());
  passes.addPass(SamePhisPass());
  passes.addPass(llvm::ADCEPass());
  passes.addPass(llvm::UnifyFunctionExitNodesPass());
  passes.addPass(llvm::LowerSwitchPass());
  passes.addPass(llvm::FixIrreduciblePass());
  add_form(passes);
  runner.run(passes, function);
}

llvm::Value* ask_lanes(llvm::IRBuilder<>& b, llvm::Value* condition) {
  llvm::Module& module = *b.GetInsertBlock()->getModule();
  auto function = module.getOrInsertFunction(("air." + kSurely).str(), b.getInt1Ty(), b.getInt1Ty());
  llvm::cast<llvm::Function>(function.getCallee())->setConvergent();
  return b.CreateCall(function, {condition});
}

void simplify_form(llvm::Function& function, support::PassRunner& runner) {
  llvm::FunctionPassManager passes;
  add_form(passes);
  runner.run(passes, function);
}

}  // namespace anymps::metal::lower::vectorize
