// A second copy of some blocks, for when all lanes run them.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/Transforms/Utils/Cloning.h>

namespace anymps::metal::lower::vectorize {

class Copies {
 public:
  explicit Copies(llvm::ArrayRef<llvm::BasicBlock*> blocks) {
    llvm::SmallVector<llvm::BasicBlock*> copies;
    for (llvm::BasicBlock* block : blocks) {
      copies.push_back(llvm::CloneBasicBlock(block, map_, ".all", block->getParent()));
      map_[block] = copies.back();
    }
    llvm::remapInstructionsInBlocks(copies, map_);
  }

  // What stands for it among the copies: itself where it comes from outside.
  llvm::Value* of(llvm::Value* value) const {
    const auto found = map_.find(value);
    return found != map_.end() ? static_cast<llvm::Value*>(found->second) : value;
  }
  llvm::BasicBlock* of(llvm::BasicBlock* block) const {
    return llvm::cast<llvm::BasicBlock>(of(static_cast<llvm::Value*>(block)));
  }

 private:
  llvm::ValueToValueMapTy map_;
};

}  // namespace anymps::metal::lower::vectorize
