// The parts of what lanes hold, each a vector with an element for each lane, and the same side by side: lane by lane.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IRBuilder.h>

namespace anymps::metal::lower::support {

inline unsigned size_of(const llvm::Value* vector) {
  return llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements();
}

// Of `count` parts of each lane, one.
inline llvm::Value* every(llvm::IRBuilder<>& b, llvm::Value* wide, unsigned count, unsigned which) {
  if (count == 1) return wide;
  llvm::SmallVector<int> from;
  for (unsigned at = which; at < size_of(wide); at += count) from.push_back(static_cast<int>(at));
  return b.CreateShuffleVector(wide, from);
}

// The vector of which `part` takes every `count`th element from the `which`th on; null where it does not.
inline llvm::Value* taken_from(const llvm::Value* part, unsigned count, unsigned which) {
  const auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(part);
  if (shuffle == nullptr || size_of(shuffle->getOperand(0)) != size_of(part) * count) return nullptr;
  for (const auto [lane, from] : llvm::enumerate(shuffle->getShuffleMask())) {
    if (from != static_cast<int>(lane * count + which)) return nullptr;
  }
  return shuffle->getOperand(0);
}

// The vector whose elements the parts take in turn, if there is one: it was taken apart before.
inline llvm::Value* whole_of(llvm::ArrayRef<llvm::Value*> parts) {
  llvm::Value* whole = nullptr;
  for (unsigned i = 0; i < parts.size(); ++i) {
    llvm::Value* from = taken_from(parts[i], static_cast<unsigned>(parts.size()), i);
    if (from == nullptr || (whole != nullptr && from != whole)) return nullptr;
    whole = from;
  }
  return whole;
}

// All parts of the first lane, then those of the next.
inline llvm::Value* interleave(llvm::IRBuilder<>& b, llvm::ArrayRef<llvm::Value*> parts) {
  if (parts.size() == 1) return parts[0];
  if (llvm::Value* whole = whole_of(parts)) return whole;
  const unsigned lanes = size_of(parts[0]);
  llvm::SmallVector<int> from;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    for (unsigned part = 0; part < parts.size(); ++part) from.push_back(static_cast<int>(part * lanes + lane));
  }
  return b.CreateShuffleVector(llvm::concatenateVectors(b, parts), from);
}

}  // namespace anymps::metal::lower::support
