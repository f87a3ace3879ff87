#include "metal/lower/transform/hoist_constant_loads.h"

#include <llvm/Analysis/PostDominators.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Instructions.h>

#include "metal/air/signature.h"
#include "metal/lower/builtins/builtin_lowering.h"

namespace anymps::metal::lower::transform {
namespace {

bool reads_constants(const llvm::Instruction& instruction) {
  const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
  return load != nullptr && load->isSimple() && load->getPointerAddressSpace() == air::kConstantSpace;
}

// In front of `place`, which is in the kernel's first block.
class Mover {
 public:
  Mover(llvm::Instruction* place, const llvm::PostDominatorTree& always) : place_(place), always_(always) {}

  void move(llvm::Instruction& instruction) {
    if (!can_move(instruction)) return;
    for (llvm::Value* operand : instruction.operands()) {
      if (auto* needed = llvm::dyn_cast<llvm::Instruction>(operand)) move(*needed);
    }
    if (!is_early(instruction)) instruction.moveBefore(place_);
  }

 private:
  bool is_early(const llvm::Instruction& instruction) const {
    return instruction.getParent() == place_->getParent() && instruction.comesBefore(place_);
  }

  bool can_move(const llvm::Instruction& instruction) const {
    if (is_early(instruction)) return true;
    if (llvm::isa<llvm::PHINode>(instruction)) return false;
    const bool always_read =
        reads_constants(instruction) && always_.dominates(instruction.getParent(), place_->getParent());
    if (!always_read && (instruction.mayReadOrWriteMemory() || !llvm::isSafeToSpeculativelyExecute(&instruction))) {
      return false;
    }
    return llvm::all_of(instruction.operands(), [&](const llvm::Value* operand) {
      const auto* needed = llvm::dyn_cast<llvm::Instruction>(operand);
      return needed == nullptr || can_move(*needed);
    });
  }

  llvm::Instruction* place_;
  const llvm::PostDominatorTree& always_;
};

}  // namespace

void hoist_constant_loads(llvm::Function& kernel) {
  llvm::BasicBlock& first = kernel.getEntryBlock();
  llvm::Instruction* place = first.getTerminator();
  for (llvm::Instruction& instruction : first) {
    if (builtins::cooperative_call(instruction) == nullptr) continue;
    place = &instruction;
    break;
  }
  const llvm::PostDominatorTree always(kernel);
  Mover mover(place, always);
  llvm::SmallVector<llvm::Instruction*> loads;
  for (llvm::BasicBlock& block : kernel) {
    for (llvm::Instruction& instruction : block) {
      if (reads_constants(instruction)) loads.push_back(&instruction);
    }
  }
  for (llvm::Instruction* load : loads) mover.move(*load);
}

}  // namespace anymps::metal::lower::transform
