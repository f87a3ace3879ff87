// What is known of a thread's code before it becomes code for many lanes at once: which values are the same in all
// lanes, which grow from lane to lane by a step, which blocks the same lanes run.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/UniformityAnalysis.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/PassManager.h>

#include <cstdint>
#include <memory>
#include <string>

namespace anymps::metal::lower::vectorize {

// Why a kernel is left to the oracle. Thrown within these passes; the registry catches it.
struct CannotVectorize {
  std::string why;
};

// A thread's program with its lane as the last argument: the only thing in which lanes differ.
struct Thread {
  llvm::Function* function = nullptr;
  unsigned lanes = 0;
  llvm::Argument* lane() const { return function->getArg(function->arg_size() - 1); }
};

// How far a value is from that of the next lane: times * by, where `by` is the same for all lanes and known only at run
// time, and is widened first where the value was; or `times` alone.
struct Step {
  enum class Widened : std::uint8_t { kNo, kUnsigned, kSigned };
  std::int64_t times = 0;
  const llvm::Value* by = nullptr;
  Widened widened = Widened::kNo;
  bool operator==(const Step&) const = default;
};

struct Shape {
  enum class Kind : std::uint8_t { kUniform, kAffine, kVarying };
  Kind kind = Kind::kUniform;
  Step step;
  bool operator==(const Shape&) const = default;
};

// An affine value holds only if these widenings did not wrap between two lanes, which is asked at run time.
using Checks = llvm::SmallSetVector<const llvm::Instruction*, 2>;

class Divergence {
 public:
  // With `guards`, lanes are not told apart by is_guard() branches: whoever writes the code sees to it that all lanes
  // go the same way there. Throws CannotVectorize for control flow that these passes do not know.
  Divergence(const Thread& thread, bool guards);

  Shape shape(const llvm::Value* value) const;
  bool uniform(const llvm::Value* value) const { return shape(value).kind == Shape::Kind::kUniform; }
  const Checks& checks(const llvm::Value* value) const;
  bool branches_apart(const llvm::BasicBlock* block) const;
  // Whether a condition compares sums of a thread's position: then most groups of lanes are on one side, and a few on
  // both.
  bool by_position(const llvm::Value* condition) const;
  // It ends in a branch by a thread's position, before anything is written: "if (i < count)".
  bool is_guard(const llvm::BasicBlock* block) const { return guards_.contains(block); }

  // The first block that the same lanes run as this one, in this iteration of its loop.
  const llvm::BasicBlock* same_lanes(const llvm::BasicBlock* block) const { return same_lanes_.lookup(block); }
  bool whole(const llvm::BasicBlock* block) const;
  // Some lanes leave it before others do.
  bool leaves_apart(const llvm::Loop* loop) const { return apart_.contains(loop); }

  const llvm::LoopInfo& loops() const { return loops_; }
  const llvm::DominatorTree& tree() const { return tree_; }

 private:
  bool find_shared();
  void find_guards();
  void find_same_lanes();
  void find_loops_and_lanes();
  bool all_reach(const llvm::BasicBlock* from, const llvm::BasicBlock* to, const llvm::Loop* loop) const;
  bool parts_between(const llvm::BasicBlock* from, const llvm::BasicBlock* to, const llvm::Loop* loop) const;
  void find_shapes();
  Shape transfer(const llvm::Instruction& instruction, Checks& checks) const;
  Shape transfer_phi(const llvm::PHINode& phi) const;
  Shape transfer_address(const llvm::GetElementPtrInst& address, Checks& checks) const;
  Shape transfer_widening(const llvm::Instruction& widening, Checks& checks) const;
  bool operand(const llvm::Value* value, Step& step, Checks& checks) const;
  unsigned zeros_of_first(const llvm::Value* value, unsigned depth) const;
  bool stays_below(const llvm::Value* value, const Step& step, unsigned bit) const;

  const Thread thread_;
  llvm::DominatorTree tree_;
  llvm::LoopInfo loops_;
  llvm::FunctionAnalysisManager analyses_;
  llvm::UniformityInfo* uniformity_ = nullptr;
  llvm::DenseMap<const llvm::BasicBlock*, const llvm::BasicBlock*> same_lanes_;
  llvm::SmallPtrSet<const llvm::BasicBlock*, 4> guards_;
  llvm::SmallPtrSet<const llvm::Value*, 8> shared_;  // by all lanes, though made of numbers that differ
  llvm::SmallPtrSet<const llvm::Loop*, 8> apart_;
  llvm::DenseMap<const llvm::Value*, Shape> shapes_;
  llvm::DenseMap<const llvm::Value*, Checks> checks_;
};

// "air." and this: ask_lanes().
inline constexpr llvm::StringLiteral kSurely = "simd_surely";

// Begins the names of functions that stand for a part of a thread's code (outline_regions.h): lanes differ in what they
// give.
inline constexpr llvm::StringLiteral kPart = "anymps.part";

// A call of what lanes do together whose result is the same for every lane that takes part.
bool gives_one_value(const llvm::CallInst& call);

}  // namespace anymps::metal::lower::vectorize
