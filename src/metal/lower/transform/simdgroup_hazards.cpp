#include "metal/lower/transform/simdgroup_hazards.h"

#include <llvm/ADT/BitVector.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Operator.h>

#include <cstddef>
#include <vector>

#include "metal/air/signature.h"
#include "metal/lower/builtins/builtin_lowering.h"
#include "metal/lower/transform/memory_origins.h"

namespace anymps::metal::lower::transform {
namespace {

// A kernel with more accesses is left as it is: every two of them are looked at.
constexpr std::size_t kMostAccesses = 1024;

// Of memory that other lanes see.
struct Access {
  llvm::Instruction* instruction;
  const llvm::Value* address;
  bool writes;
  unsigned space;
  MemoryOrigins origins;
};

// Whether every lane has this address: no index of the lane's is in it.
bool is_shared(const llvm::Value* address) {
  while (const auto* element = llvm::dyn_cast<llvm::GEPOperator>(address)) {
    if (!element->hasAllConstantIndices()) return false;
    address = element->getPointerOperand();
  }
  return llvm::isa<llvm::Argument, llvm::Constant>(address);
}

template <typename T>
bool have_one_in_common(const llvm::SmallVectorImpl<T>& some, const llvm::SmallVectorImpl<T>& others) {
  return llvm::any_of(some, [&](const T& one) { return llvm::is_contained(others, one); });
}

bool may_share_memory(const Access& one, const Access& other) {
  if (one.space != other.space) return false;
  if (one.origins.unknown || other.origins.unknown) return true;
  return have_one_in_common(one.origins.arguments, other.origins.arguments) ||
         have_one_in_common(one.origins.variables, other.origins.variables);
}

// Whether a lane may touch with one what another touches with the other, and one of them writes. An address with an
// index is taken for the lane's own place.
bool is_hazard(const Access& one, const Access& other) {
  if (one.writes == other.writes || !may_share_memory(one, other)) return false;
  return one.address != other.address || is_shared(one.address);
}

class HazardFinder {
 public:
  explicit HazardFinder(llvm::Function& kernel) : order_(&kernel) {
    for (llvm::BasicBlock* block : order_) {
      for (llvm::Instruction& instruction : *block) add(instruction);
    }
  }

  // The accesses that the lanes must meet before.
  std::vector<llvm::Instruction*> find() {
    std::vector<llvm::Instruction*> places;
    if (accesses_.size() > kMostAccesses || !llvm::any_of(accesses_, [](const Access& one) { return one.writes; })) {
      return places;
    }
    separated_.resize(static_cast<unsigned>(accesses_.size()));
    for (bool changes = true; changes;) {
      changes = false;
      for (const llvm::BasicBlock* block : order_) changes |= walk(*block);
    }
    for (const unsigned index : separated_.set_bits()) places.push_back(accesses_[index].instruction);
    return places;
  }

 private:
  void add(llvm::Instruction& instruction) {
    const llvm::Value* address = llvm::getLoadStorePointerOperand(&instruction);
    if (address == nullptr || instruction.hasMetadata(llvm::LLVMContext::MD_invariant_load)) return;
    const unsigned space = address->getType()->getPointerAddressSpace();
    if (space != air::kDeviceSpace && space != air::kThreadgroupSpace) return;
    numbers_[&instruction] = static_cast<unsigned>(accesses_.size());
    address = address->stripPointerCasts();
    accesses_.push_back({.instruction = &instruction,
                         .address = address,
                         .writes = llvm::isa<llvm::StoreInst>(instruction),
                         .space = space,
                         .origins = memory_origins_of(address)});
  }

  // Whether something is new behind the block.
  bool walk(const llvm::BasicBlock& block) {
    llvm::BitVector since(static_cast<unsigned>(accesses_.size()));  // the lanes met
    for (const llvm::BasicBlock* before : llvm::predecessors(&block)) {
      if (const auto found = behind_.find(before); found != behind_.end()) since |= found->second;
    }
    bool changes = false;
    for (const llvm::Instruction& instruction : block) {
      if (builtins::cooperative_call(instruction) != nullptr) since.reset();
      const auto found = numbers_.find(&instruction);
      if (found == numbers_.end()) continue;
      const Access& access = accesses_[found->second];
      if (!separated_[found->second] &&
          llvm::any_of(since.set_bits(), [&](unsigned index) { return is_hazard(accesses_[index], access); })) {
        separated_.set(found->second);
        changes = true;
      }
      if (separated_[found->second]) since.reset();
      since.set(found->second);
    }
    llvm::BitVector& known = behind_[&block];
    changes |= known != since;
    known = since;
    return changes;
  }

  llvm::ReversePostOrderTraversal<llvm::Function*> order_;
  std::vector<Access> accesses_;
  llvm::DenseMap<const llvm::Instruction*, unsigned> numbers_;
  llvm::DenseMap<const llvm::BasicBlock*, llvm::BitVector> behind_;
  llvm::BitVector separated_;
};

}  // namespace

void separate_simdgroup_hazards(llvm::Function& kernel) {
  for (llvm::Instruction* place : HazardFinder(kernel).find()) builtins::meet_simdgroup_before(*place);
}

}  // namespace anymps::metal::lower::transform
