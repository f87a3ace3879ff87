#include "metal/lower/vectorize/divergence_analysis.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/CycleAnalysis.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/Analysis/TargetTransformInfoImpl.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/Support/MathExtras.h>

#include "metal/lower/builtins/builtin_lowering.h"

namespace anymps::metal::lower::vectorize {
namespace {

using llvm::Instruction;
using Kind = Shape::Kind;

bool is_part(const llvm::Value& value) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&value);
  return call != nullptr && call->getCalledFunction() != nullptr &&
         call->getCalledFunction()->getName().starts_with(kPart);
}

// Tells LLVM's analysis of uniformity, which is for GPUs, in what lanes differ here.
class LaneInfo : public llvm::TargetTransformInfoImplCRTPBase<LaneInfo> {
 public:
  LaneInfo(const llvm::DataLayout& layout, const llvm::Value* lane,
           const llvm::SmallPtrSetImpl<const llvm::Value*>& shared)
      : TargetTransformInfoImplCRTPBase(layout), lane_(lane), shared_(shared) {}

  // NOLINTBEGIN(readability-identifier-naming): LLVM's names
  bool hasBranchDivergence(const llvm::Function* = nullptr) const { return true; }
  bool isSourceOfDivergence(const llvm::Value* value) const {
    if (value == lane_ || llvm::isa<llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst>(value)) return true;
    if (is_part(*value)) return true;
    const llvm::CallInst* call = builtins::cooperative_call(*value);
    return call != nullptr && !gives_one_value(*call);
  }
  bool isAlwaysUniform(const llvm::Value* value) const {
    const llvm::CallInst* call = builtins::cooperative_call(*value);
    return shared_.contains(value) || (call != nullptr && gives_one_value(*call));
  }
  // NOLINTEND(readability-identifier-naming)

 private:
  const llvm::Value* lane_;
  const llvm::SmallPtrSetImpl<const llvm::Value*>& shared_;
};

bool is_integer_or_pointer(const llvm::Type* type) {
  return type->isPointerTy() || (type->isIntegerTy() && !type->isIntegerTy(1) && type->getIntegerBitWidth() <= 64);
}

// Beyond it a value counts as varying: so none of what is computed with steps overflows.
constexpr std::int64_t kMostTimes = std::int64_t{1} << 31U;

bool is_of_use(const Step& step) { return -kMostTimes <= step.times && step.times <= kMostTimes; }

// False where it is too large.
bool scale(Step& step, std::int64_t by) { return !llvm::MulOverflow(step.times, by, step.times) && is_of_use(step); }

// The sum of two steps, where it can be said.
bool add(Step& left, const Step& right, bool minus = false) {
  if (right.times == 0) return true;
  if (left.times == 0) {
    left = right;
    if (minus) left.times = -left.times;
    return true;
  }
  if (left.by != right.by || left.widened != right.widened) return false;
  left.times += minus ? -right.times : right.times;
  return is_of_use(left);
}

}  // namespace

bool gives_one_value(const llvm::CallInst& call) {
  llvm::StringRef function = call.getCalledFunction()->getName();
  if (!function.consume_front("air.simd_")) return false;
  if (function.starts_with("broadcast.")) return llvm::isa<llvm::Constant>(call.getArgOperand(1));
  for (const llvm::StringRef name : {"sum.", "product.", "min.", "max.", "and.", "or.", "xor.", "broadcast_first.",
                                     "surely", "all", "any", "ballot", "active_threads_mask"}) {
    if (function.starts_with(name)) return true;
  }
  return false;
}

Divergence::Divergence(const Thread& thread, bool guards) : thread_(thread), tree_(*thread.function), loops_(tree_) {
  llvm::Function& function = *thread.function;
  analyses_.registerPass([] { return llvm::PassInstrumentationAnalysis(); });
  analyses_.registerPass([] { return llvm::DominatorTreeAnalysis(); });
  analyses_.registerPass([] { return llvm::CycleAnalysis(); });
  analyses_.registerPass([&] {
    return llvm::TargetIRAnalysis([&](const llvm::Function&) {
      return llvm::TargetTransformInfo(LaneInfo(function.getParent()->getDataLayout(), thread.lane(), shared_));
    });
  });
  analyses_.registerPass([] { return llvm::UniformityInfoAnalysis(); });
  for (const llvm::Cycle* cycle : analyses_.getResult<llvm::CycleAnalysis>(function).toplevel_cycles()) {
    if (!cycle->isReducible()) throw CannotVectorize{"a loop with two entries"};
  }
  for (const llvm::Loop* loop : loops_) {
    if (!loop->isRecursivelyLCSSAForm(tree_, loops_)) throw CannotVectorize{"a loop out of form"};
  }
  const auto look = [&] {
    uniformity_ = &analyses_.getResult<llvm::UniformityInfoAnalysis>(function);
    if (guards) find_guards();
    find_loops_and_lanes();
    find_shapes();
  };
  look();
  if (!find_shared()) return;
  analyses_.clear();
  guards_.clear();
  apart_.clear();
  shapes_.clear();
  checks_.clear();
  look();
}

// "index / 32" is the same for lanes that begin at a multiple of 32.
bool Divergence::find_shared() {
  for (const Instruction& instruction : llvm::instructions(*thread_.function)) {
    if (instruction.getOpcode() != Instruction::LShr) continue;
    const llvm::Value* number = instruction.getOperand(0);
    const auto* by = llvm::dyn_cast<llvm::ConstantInt>(instruction.getOperand(1));
    const Shape of_number = shape(number);
    if (by == nullptr || of_number.kind != Kind::kAffine || !checks(number).empty()) continue;
    if (stays_below(number, of_number.step, static_cast<unsigned>(by->getZExtValue()))) shared_.insert(&instruction);
  }
  return !shared_.empty();
}

bool Divergence::by_position(const llvm::Value* condition) const {
  llvm::SmallVector<const llvm::Value*> work = {condition};
  llvm::SmallPtrSet<const llvm::Value*, 16> seen;
  while (!work.empty()) {
    const llvm::Value* value = work.pop_back_val();
    if (uniformity_->isUniform(value) || value == thread_.lane() || !seen.insert(value).second) continue;
    const auto* instruction = llvm::dyn_cast<Instruction>(value);
    if (instruction == nullptr) return false;
    const bool truth = instruction->getType()->isIntegerTy(1);
    switch (instruction->getOpcode()) {
      case Instruction::ICmp:
        break;
      case Instruction::And:
      case Instruction::Or:
      case Instruction::Xor:
      case Instruction::Select:
        if (!truth) return false;
        break;
      case Instruction::Add:
      case Instruction::Sub:
      case Instruction::Mul:
      case Instruction::Shl:
      case Instruction::ZExt:
      case Instruction::SExt:
      case Instruction::Trunc:
      case Instruction::Freeze:
      case Instruction::InsertElement:
      case Instruction::ExtractElement:
      case Instruction::ShuffleVector:
        break;
      default:
        return false;
    }
    work.append(instruction->op_begin(), instruction->op_end());
  }
  return true;
}

void Divergence::find_guards() {
  const auto writes = [](const llvm::BasicBlock* block) {
    return llvm::any_of(*block, [](const Instruction& instruction) { return instruction.mayWriteToMemory(); });
  };
  for (const llvm::BasicBlock& block : *thread_.function) {
    const auto* branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
    if (branch == nullptr || !branches_apart(&block) || loops_.getLoopFor(&block) != nullptr) continue;
    if (!by_position(branch->getCondition())) continue;
    bool written = false;
    llvm::SmallVector<const llvm::BasicBlock*> work = {&block};
    llvm::SmallPtrSet<const llvm::BasicBlock*, 8> seen = {&block};
    while (!work.empty() && !written) {
      const llvm::BasicBlock* before = work.pop_back_val();
      written = writes(before);
      for (const llvm::BasicBlock* more : llvm::predecessors(before)) {
        if (seen.insert(more).second) work.push_back(more);
      }
    }
    if (!written) guards_.insert(&block);
  }
}

bool Divergence::branches_apart(const llvm::BasicBlock* block) const {
  return block->getTerminator()->getNumSuccessors() > 1 && uniformity_->hasDivergentTerminator(*block) &&
         !guards_.contains(block);
}

bool Divergence::whole(const llvm::BasicBlock* block) const {
  return same_lanes(block) == &thread_.function->getEntryBlock();
}

// A loop is left apart if a block that leaves it is not run by all its lanes, which follows from other such loops.
void Divergence::find_loops_and_lanes() {
  for (bool changed = true; changed;) {
    changed = false;
    find_same_lanes();
    for (const llvm::Loop* loop : loops_.getLoopsInPreorder()) {
      if (apart_.contains(loop)) continue;
      llvm::SmallVector<llvm::BasicBlock*> leaving;
      loop->getExitingBlocks(leaving);
      for (const llvm::BasicBlock* block : leaving) {
        bool apart = branches_apart(block) || same_lanes(block) != same_lanes(loop->getHeader());
        for (const llvm::Loop* inner = loops_.getLoopFor(block); inner != loop; inner = inner->getParentLoop()) {
          apart |= apart_.contains(inner);
        }
        if (!apart) continue;
        apart_.insert(loop);
        changed = true;
        break;
      }
    }
  }
}

void Divergence::find_same_lanes() {
  same_lanes_.clear();
  const llvm::Function& function = *thread_.function;
  for (const llvm::BasicBlock* block : llvm::ReversePostOrderTraversal<const llvm::Function*>(&function)) {
    same_lanes_[block] = block;
    if (block == &function.getEntryBlock()) continue;
    const llvm::Loop* loop = loops_.getLoopFor(block);
    if (loop != nullptr && loop->getHeader() == block) {
      if (loop->getLoopPreheader() == nullptr) throw CannotVectorize{"a loop out of form"};
      if (!apart_.contains(loop)) same_lanes_[block] = same_lanes_.lookup(loop->getLoopPreheader());
      continue;
    }
    const llvm::BasicBlock* before = tree_.getNode(block)->getIDom()->getBlock();
    const llvm::Loop* inner = loops_.getLoopFor(before);
    if (inner != loop) {
      while (inner != nullptr && inner->getParentLoop() != loop) inner = inner->getParentLoop();
      if (inner == nullptr) continue;
      before = inner->getLoopPreheader();
      if (before == nullptr) throw CannotVectorize{"a loop out of form"};
    }
    // A branch that lanes take together does not part them. But while others wait, blocks are run in order, those
    // behind the way not taken too, and only a mask of its own tells that nobody has come to such a block.
    const llvm::BasicBlock* first = loop != nullptr ? loop->getHeader() : &function.getEntryBlock();
    const bool nobody_waits = same_lanes_.lookup(before) == same_lanes_.lookup(first);
    if (all_reach(before, block, loop) || (nobody_waits && !parts_between(before, block, loop))) {
      same_lanes_[block] = same_lanes_.lookup(before);
    }
  }
}

// Whether every way from a block leads to another, within one iteration of the loop.
bool Divergence::all_reach(const llvm::BasicBlock* from, const llvm::BasicBlock* to, const llvm::Loop* loop) const {
  llvm::SmallVector<const llvm::BasicBlock*> work = {from};
  llvm::SmallPtrSet<const llvm::BasicBlock*, 16> seen = {from};
  while (!work.empty()) {
    const llvm::BasicBlock* block = work.pop_back_val();
    if (llvm::succ_empty(block)) return false;
    for (const llvm::BasicBlock* next : llvm::successors(block)) {
      if (next == to) continue;
      if (loop != nullptr && (next == loop->getHeader() || !loop->contains(next))) return false;
      if (seen.insert(next).second) work.push_back(next);
    }
  }
  return true;
}

// Whether lanes part on some way between two blocks.
bool Divergence::parts_between(const llvm::BasicBlock* from, const llvm::BasicBlock* to, const llvm::Loop* loop) const {
  llvm::SmallVector<const llvm::BasicBlock*> work = {to};
  llvm::SmallPtrSet<const llvm::BasicBlock*, 16> seen = {to};
  while (!work.empty()) {
    const llvm::BasicBlock* block = work.pop_back_val();
    for (const llvm::BasicBlock* before : llvm::predecessors(block)) {
      if (loop != nullptr && (!loop->contains(before) || block == loop->getHeader())) return true;
      for (const llvm::Loop* inner = loops_.getLoopFor(before); inner != nullptr && inner != loop;
           inner = inner->getParentLoop()) {
        if (apart_.contains(inner)) return true;
      }
      if (branches_apart(before)) return true;
      if (before != from && seen.insert(before).second) work.push_back(before);
    }
  }
  return false;
}

Shape Divergence::shape(const llvm::Value* value) const {
  if (value == thread_.lane()) return {Kind::kAffine, {.times = 1}};
  if (llvm::isa<llvm::Constant, llvm::Argument>(value)) return {};
  return shapes_.lookup(value);
}

const Checks& Divergence::checks(const llvm::Value* value) const {
  static const Checks none;
  const auto found = checks_.find(value);
  return found == checks_.end() ? none : found->second;
}

// From the most that could be, down to what holds: a shape only ever becomes varying.
void Divergence::find_shapes() {
  const Shape varying{Kind::kVarying, {}};
  llvm::ReversePostOrderTraversal<const llvm::Function*> order(thread_.function);
  llvm::SmallPtrSet<const Instruction*, 32> known;
  for (bool changed = true; changed;) {
    changed = false;
    for (const llvm::BasicBlock* block : order) {
      for (const Instruction& instruction : *block) {
        Shape shape;
        Checks checks;
        if (uniformity_->isDivergent(&instruction)) {
          shape = transfer(instruction, checks);
          if (shape.kind != Kind::kAffine || shape.step.times == 0) shape = varying;
        }
        const bool first = known.insert(&instruction).second;
        const Shape before = shapes_.lookup(&instruction);
        if (!first) {
          const bool same = before == shape && checks_.lookup(&instruction).size() == checks.size();
          if (same || before.kind == Kind::kVarying) continue;
          if (before != shape) shape = varying;
        }
        shapes_[&instruction] = shape;
        if (shape.kind != Kind::kAffine) checks.clear();
        checks_[&instruction] = std::move(checks);
        changed = true;
      }
    }
  }
}

bool Divergence::operand(const llvm::Value* value, Step& step, Checks& checks) const {
  const Shape shape = this->shape(value);
  if (shape.kind == Kind::kVarying) return false;
  step = shape.step;
  const Checks& more = this->checks(value);
  checks.insert(more.begin(), more.end());
  return true;
}

// The low bits of the first lane's number that are zero for certain.
unsigned Divergence::zeros_of_first(const llvm::Value* value, unsigned depth) const {
  constexpr unsigned kDeep = 6;
  constexpr unsigned kAll = 64;
  if (value == thread_.lane()) return kAll;
  if (uniformity_->isUniform(value)) {
    const auto& layout = thread_.function->getParent()->getDataLayout();
    return llvm::computeKnownBits(value, layout).countMinTrailingZeros();
  }
  const auto* instruction = llvm::dyn_cast<Instruction>(value);
  if (instruction == nullptr || depth == kDeep) return 0;
  const auto of = [&](unsigned operand) { return zeros_of_first(instruction->getOperand(operand), depth + 1); };
  switch (instruction->getOpcode()) {
    case Instruction::Add:
    case Instruction::Sub:
    case Instruction::Or:
      return std::min(of(0), of(1));
    case Instruction::And:
      return std::max(of(0), of(1));
    case Instruction::Mul:
      return std::min(kAll, of(0) + of(1));
    case Instruction::Shl: {
      const auto* by = llvm::dyn_cast<llvm::ConstantInt>(instruction->getOperand(1));
      return by != nullptr ? std::min<unsigned>(kAll, of(0) + static_cast<unsigned>(by->getZExtValue())) : of(0);
    }
    case Instruction::ZExt:
    case Instruction::SExt:
    case Instruction::Trunc:
      return of(0);
    default:
      return 0;
  }
}

// A step that lanes do not make as far as bit `bit`, because the first one begins at a multiple of it.
bool Divergence::stays_below(const llvm::Value* value, const Step& step, unsigned bit) const {
  if (step.by != nullptr || step.times <= 0 || bit >= 32) return false;
  const std::uint64_t reach = static_cast<std::uint64_t>(step.times) * thread_.lanes;
  return llvm::isPowerOf2_64(reach) && reach <= std::uint64_t{1} << bit &&
         zeros_of_first(value, 0) >= llvm::Log2_64(reach);
}

Shape Divergence::transfer(const Instruction& instruction, Checks& checks) const {
  const Shape varying{Kind::kVarying, {}};
  if (!is_integer_or_pointer(instruction.getType())) return varying;
  Step step;
  Step other;
  switch (instruction.getOpcode()) {
    case Instruction::Or:
      if (!llvm::cast<llvm::PossiblyDisjointInst>(instruction).isDisjoint()) return varying;
      [[fallthrough]];
    case Instruction::Add:
    case Instruction::Sub:
      if (!operand(instruction.getOperand(0), step, checks) || !operand(instruction.getOperand(1), other, checks) ||
          !add(step, other, instruction.getOpcode() == Instruction::Sub)) {
        return varying;
      }
      return {Kind::kAffine, step};
    case Instruction::Mul: {
      if (!operand(instruction.getOperand(0), step, checks) || !operand(instruction.getOperand(1), other, checks)) {
        return varying;
      }
      const bool first = step.times != 0;
      if (first == (other.times != 0)) return varying;
      const llvm::Value* factor = instruction.getOperand(first ? 1 : 0);
      if (!first) step = other;
      if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(factor)) {
        return scale(step, constant->getSExtValue()) ? Shape{Kind::kAffine, step} : varying;
      }
      if (step.by != nullptr) return varying;
      step.by = factor;
      return {Kind::kAffine, step};
    }
    case Instruction::Shl: {
      const auto* by = llvm::dyn_cast<llvm::ConstantInt>(instruction.getOperand(1));
      if (by == nullptr || by->getZExtValue() > 31 || !operand(instruction.getOperand(0), step, checks)) return varying;
      return scale(step, std::int64_t{1} << by->getZExtValue()) ? Shape{Kind::kAffine, step} : varying;
    }
    case Instruction::And: {
      const auto* low = llvm::dyn_cast<llvm::ConstantInt>(instruction.getOperand(1));
      if (low == nullptr || !low->getValue().isMask() || !operand(instruction.getOperand(0), step, checks) ||
          !checks.empty() || !stays_below(instruction.getOperand(0), step, low->getValue().countr_one())) {
        return varying;
      }
      return {Kind::kAffine, step};
    }
    case Instruction::ZExt:
    case Instruction::SExt:
      return transfer_widening(instruction, checks);
    case Instruction::Trunc:
      if (instruction.getType()->getIntegerBitWidth() < 16 || !operand(instruction.getOperand(0), step, checks) ||
          step.by != nullptr) {
        return varying;
      }
      return {Kind::kAffine, step};
    case Instruction::Freeze:
    case Instruction::AddrSpaceCast:
    case Instruction::PtrToInt:
    case Instruction::IntToPtr:
      if (!operand(instruction.getOperand(0), step, checks)) return varying;
      if (step.by != nullptr && instruction.getOpcode() != Instruction::Freeze) return varying;
      return {Kind::kAffine, step};
    case Instruction::GetElementPtr:
      return transfer_address(llvm::cast<llvm::GetElementPtrInst>(instruction), checks);
    case Instruction::PHI:
      return transfer_phi(llvm::cast<llvm::PHINode>(instruction));
    default:
      return varying;
  }
}

// A wider number grows by the same step, unless the narrow one wrapped between two lanes.
Shape Divergence::transfer_widening(const Instruction& widening, Checks& checks) const {
  Step step;
  const llvm::Value* narrow = widening.getOperand(0);
  if (narrow->getType()->isIntegerTy(1) || !operand(narrow, step, checks)) return {Kind::kVarying, {}};
  const bool is_signed = widening.getOpcode() == Instruction::SExt;
  if (step.by != nullptr) {
    if (step.widened != Step::Widened::kNo) return {Kind::kVarying, {}};
    step.widened = is_signed ? Step::Widened::kSigned : Step::Widened::kUnsigned;
  }
  // A thread's position was made so that it does not wrap; other flags say nothing of lanes that do not take part.
  const auto* sum = llvm::dyn_cast<llvm::OverflowingBinaryOperator>(narrow);
  const bool position =
      sum != nullptr && (sum->getOperand(0) == thread_.lane() || sum->getOperand(1) == thread_.lane());
  const bool cannot_wrap =
      narrow == thread_.lane() || (position && (is_signed ? sum->hasNoSignedWrap() : sum->hasNoUnsignedWrap()));
  if (!cannot_wrap) checks.insert(&widening);
  return {Kind::kAffine, step};
}

Shape Divergence::transfer_address(const llvm::GetElementPtrInst& address, Checks& checks) const {
  const llvm::DataLayout& layout = address.getModule()->getDataLayout();
  llvm::MapVector<llvm::Value*, llvm::APInt> terms;
  llvm::APInt constant(64, 0);
  Step step;
  if (!address.collectOffset(layout, 64, terms, constant)) return {Kind::kVarying, {}};
  if (!operand(address.getPointerOperand(), step, checks)) return {Kind::kVarying, {}};
  for (const auto& [index, times] : terms) {
    Step more;
    // A narrow index is widened with its sign, and may wrap there.
    if (!operand(index, more, checks)) return {Kind::kVarying, {}};
    if (more.times != 0 && !index->getType()->isIntegerTy(64)) return {Kind::kVarying, {}};
    if (!scale(more, times.getSExtValue()) || !add(step, more)) return {Kind::kVarying, {}};
  }
  return {Kind::kAffine, step};
}

Shape Divergence::transfer_phi(const llvm::PHINode& phi) const {
  const Shape varying{Kind::kVarying, {}};
  const llvm::Loop* loop = loops_.getLoopFor(phi.getParent());
  const bool header = loop != nullptr && loop->getHeader() == phi.getParent();
  if (!header) {
    if (phi.getNumIncomingValues() > 1) return varying;
    for (const llvm::Loop* left = loops_.getLoopFor(phi.getIncomingBlock(0)); left != nullptr && left != loop;
         left = left->getParentLoop()) {
      if (apart_.contains(left)) return varying;
    }
  }
  Shape merged{Kind::kAffine, {}};
  bool first = true;
  for (const llvm::Value* value : phi.incoming_values()) {
    if (llvm::isa<llvm::UndefValue>(value)) continue;
    const auto* instruction = llvm::dyn_cast<Instruction>(value);
    if (instruction != nullptr && !shapes_.contains(instruction)) continue;  // not looked at yet
    const Shape shape = this->shape(value);
    // What a check is about must have been asked in this iteration.
    if (shape.kind == Kind::kVarying || !checks(value).empty()) return varying;
    if (!first && shape.step != merged.step) return varying;
    merged.step = shape.step;
    first = false;
  }
  return merged;
}

}  // namespace anymps::metal::lower::vectorize
