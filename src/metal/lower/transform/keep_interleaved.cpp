#include "metal/lower/transform/keep_interleaved.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <map>

#include "metal/lower/support/interleaving.h"

namespace anymps::metal::lower::transform {
namespace {

using llvm::Instruction;

// The parts of a value, in order: vectors with an element for each lane.
using Group = llvm::SmallVector<llvm::Value*, 4>;

constexpr std::size_t kMostGroups = 64;
// What is used elsewhere too is computed twice, and what differs from lane to lane only is written out for each part.
constexpr unsigned kMostTwice = 2;
constexpr unsigned kMostRepeated = 2;

// The parts that a shuffle puts side by side; empty where it does not.
Group parts_of(const llvm::ShuffleVectorInst& shuffle, unsigned count) {
  const unsigned all = support::size_of(&shuffle);
  if (all % count != 0) return {};
  const unsigned lanes = all / count;
  Group parts(count, nullptr);
  for (unsigned i = 0; i < all; ++i) {
    const llvm::Value* from = &shuffle;
    unsigned element = i;
    while (support::size_of(from) != lanes) {
      const auto* step = llvm::dyn_cast<llvm::ShuffleVectorInst>(from);
      const int next = step != nullptr ? step->getMaskValue(element) : -1;
      if (next < 0) return {};
      const unsigned left = support::size_of(step->getOperand(0));
      const bool right = static_cast<unsigned>(next) >= left;
      from = step->getOperand(right ? 1 : 0);
      element = static_cast<unsigned>(next) - (right ? left : 0);
    }
    llvm::Value*& part = parts[i % count];
    if (part == nullptr) part = const_cast<llvm::Value*>(from);
    if (part != from || element != i / count) return {};
  }
  return parts;
}

bool is_elementwise(const Instruction& instruction) {
  if (llvm::isa<llvm::BinaryOperator, llvm::UnaryOperator, llvm::CmpInst, llvm::FreezeInst>(instruction)) {
    return !instruction.isIntDivRem();
  }
  if (const auto* cast = llvm::dyn_cast<llvm::CastInst>(&instruction)) {
    const auto* from = llvm::dyn_cast<llvm::FixedVectorType>(cast->getSrcTy());
    return from != nullptr && from->getNumElements() == support::size_of(cast);
  }
  if (const auto* select = llvm::dyn_cast<llvm::SelectInst>(&instruction)) {
    return select->getCondition()->getType()->isVectorTy();
  }
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  return call != nullptr && llvm::isTriviallyVectorizable(call->getIntrinsicID()) &&
         llvm::all_of(call->args(), [](const llvm::Use& use) { return use->getType()->isVectorTy(); });
}

bool are_alike(const Instruction& left, const Instruction& right) {
  if (left.getType() != right.getType()) return false;
  if (llvm::isa<llvm::PHINode>(left)) return llvm::isa<llvm::PHINode>(right) && left.getParent() == right.getParent();
  return left.isSameOperationAs(&right, Instruction::CompareIgnoringAlignment) ||
         (left.getOpcode() == right.getOpcode() && llvm::isa<llvm::BinaryOperator, llvm::UnaryOperator>(left));
}

Group operands_of(const Group& group, unsigned index) {
  Group operands;
  for (const llvm::Value* part : group) operands.push_back(llvm::cast<Instruction>(part)->getOperand(index));
  return operands;
}

Group incoming_of(const Group& group, const llvm::BasicBlock* block) {
  Group values;
  for (const llvm::Value* part : group) {
    values.push_back(llvm::cast<llvm::PHINode>(part)->getIncomingValueForBlock(block));
  }
  return values;
}

unsigned operands_to_widen(const Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  return call != nullptr ? call->arg_size() : instruction.getNumOperands();
}

// One expression, or one web of sums in a loop: everything that has to become wide together.
class Web {
 public:
  // `loop`: of the sums; null for an expression.
  Web(const llvm::DominatorTree& tree, const llvm::Loop* loop) : tree_(tree), loop_(loop) {}

  // Whether it can be. Adds what it is made of.
  bool add(const Group& group) {
    if (groups_.contains(key(group))) return true;
    if (groups_.size() >= kMostGroups) return false;
    const Kind kind = kind_of(group);
    if (kind == Kind::kNone || (kind == Kind::kRepeated && ++repeated_ > kMostRepeated)) return false;
    groups_[key(group)] = {group, kind};
    const auto* first = llvm::dyn_cast<Instruction>(group[0]);
    if (kind == Kind::kComputed) {
      for (unsigned i = 0; i < operands_to_widen(*first); ++i) {
        if (!add(operands_of(group, i))) return false;
      }
    } else if (kind == Kind::kPhis) {
      for (llvm::BasicBlock* block : llvm::cast<llvm::PHINode>(first)->blocks()) {
        if (!add_incoming(group, *block)) return false;
      }
    }
    return true;
  }

  // Whether what becomes wide is wanted as it was in few places, and not from round to round. `root` is to go.
  bool may_go(const llvm::Value* root) {
    // Groups may come to it on the way.
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const Member member = std::next(groups_.begin(), static_cast<std::ptrdiff_t>(i))->second;
      if (member.kind != Kind::kComputed && member.kind != Kind::kPhis) continue;
      bool twice = false;
      for (const llvm::Value* part : member.parts) {
        for (const llvm::Use& use : part->uses()) {
          const auto* user = llvm::cast<Instruction>(use.getUser());
          if (is_inside(*user) || leads_to(*user, root)) continue;
          if (loop_ == nullptr) {
            twice |= user->getParent() == llvm::cast<Instruction>(part)->getParent();
            continue;
          }
          const auto* phi = llvm::dyn_cast<llvm::PHINode>(user);
          const llvm::BasicBlock* at = phi != nullptr ? phi->getIncomingBlock(use) : user->getParent();
          if (!loop_->contains(at)) continue;
          if (phi == nullptr || !add_phis(member.parts, *phi, *at)) return false;
        }
      }
      if (twice && ++twice_ > kMostTwice) return false;
    }
    return true;
  }

  llvm::Value* build(const Group& group) {
    Member& member = groups_.find(key(group))->second;
    if (member.wide != nullptr) return member.wide;
    const auto count = static_cast<unsigned>(group.size());
    const unsigned lanes = support::size_of(group[0]);
    switch (member.kind) {
      case Kind::kWhole:
        member.wide = support::whole_of(group);
        break;
      case Kind::kConstants: {
        llvm::SmallVector<llvm::Constant*> elements;
        for (unsigned i = 0; i < lanes * count; ++i) {
          elements.push_back(llvm::cast<llvm::Constant>(group[i % count])->getAggregateElement(i / count));
        }
        member.wide = llvm::ConstantVector::get(elements);
        break;
      }
      case Kind::kSplats:
      case Kind::kRepeated: {
        llvm::IRBuilder<> b(behind(group));
        llvm::SmallVector<int> from;
        if (member.kind == Kind::kRepeated) {
          for (unsigned i = 0; i < lanes * count; ++i) from.push_back(static_cast<int>(i / count));
          member.wide = b.CreateShuffleVector(group[0], from);
          break;
        }
        llvm::Value* one = llvm::PoisonValue::get(llvm::FixedVectorType::get(element_type(group), count));
        for (unsigned i = 0; i < count; ++i) {
          one = b.CreateInsertElement(one, b.CreateExtractElement(group[i], std::uint64_t{0}), i);
        }
        for (unsigned i = 0; i < lanes * count; ++i) from.push_back(static_cast<int>(i % count));
        member.wide = b.CreateShuffleVector(one, from);
        break;
      }
      case Kind::kJoined: {
        llvm::IRBuilder<> b(member.joined_in->getTerminator());
        member.wide = support::interleave(b, group);
        break;
      }
      case Kind::kComputed:
        member.wide = compute(group);
        break;
      case Kind::kPhis: {
        auto* first = llvm::cast<llvm::PHINode>(group[0]);
        llvm::IRBuilder<> b(first->getParent(), first->getParent()->begin());
        llvm::PHINode* phi = b.CreatePHI(wide_type(group), first->getNumIncomingValues());
        member.wide = phi;
        for (llvm::BasicBlock* block : first->blocks()) phi->addIncoming(build(incoming_of(group, block)), block);
        return phi;
      }
      case Kind::kNone:
        break;
    }
    return member.wide;
  }

  void build_all() {
    llvm::SmallVector<Group> all;
    for (const auto& [_, member] : groups_) all.push_back(member.parts);
    for (const Group& group : all) build(group);
  }

  // Parts that are still wanted are taken from what is wide now, and what is left goes.
  void take_over() {
    llvm::SmallVector<Instruction*> dead;
    for (const auto& [_, member] : groups_) {
      if (member.kind != Kind::kComputed && member.kind != Kind::kPhis) continue;
      const auto count = static_cast<unsigned>(member.parts.size());
      for (unsigned i = 0; i < count; ++i) {
        auto* part = llvm::cast<Instruction>(member.parts[i]);
        for (llvm::Use& use : llvm::make_early_inc_range(part->uses())) {
          auto* user = llvm::cast<Instruction>(use.getUser());
          if (is_inside(*user)) continue;
          auto* phi = llvm::dyn_cast<llvm::PHINode>(user);
          llvm::IRBuilder<> b(phi != nullptr ? phi->getIncomingBlock(use)->getTerminator() : user);
          use.set(support::every(b, member.wide, count, i));
        }
        dead.push_back(part);
      }
    }
    for (Instruction* part : dead) part->replaceAllUsesWith(llvm::PoisonValue::get(part->getType()));
    for (Instruction* part : dead) part->eraseFromParent();
  }

 private:
  enum class Kind : std::uint8_t { kNone, kWhole, kConstants, kSplats, kRepeated, kJoined, kComputed, kPhis };
  struct Member {
    Group parts;
    Kind kind = Kind::kNone;
    llvm::Value* wide = nullptr;
    llvm::BasicBlock* joined_in = nullptr;
  };
  using Key = std::vector<llvm::Value*>;

  static Key key(const Group& group) { return {group.begin(), group.end()}; }
  static llvm::Type* element_type(const Group& group) { return group[0]->getType()->getScalarType(); }
  static llvm::Type* wide_type(const Group& group) {
    const auto count = static_cast<unsigned>(group.size());
    return llvm::FixedVectorType::get(element_type(group), support::size_of(group[0]) * count);
  }

  // The part behind which all of them are there; null where there is none.
  Instruction* last_of(const Group& group) const {
    Instruction* last = nullptr;
    for (llvm::Value* part : group) {
      auto* instruction = llvm::dyn_cast<Instruction>(part);
      if (instruction == nullptr) continue;
      if (last == nullptr || tree_.dominates(last, instruction)) {
        last = instruction;
      } else if (last != instruction && !tree_.dominates(instruction, last)) {
        return nullptr;
      }
    }
    return last;
  }

  Kind kind_of(const Group& group) {
    const auto all = [&](auto&& test) { return llvm::all_of(group, test); };
    if (!all([&](const llvm::Value* part) { return part->getType() == group[0]->getType(); })) return Kind::kNone;
    if (all([](const llvm::Value* part) { return llvm::isa<llvm::Constant>(part); })) {
      return all([](const llvm::Value* part) { return !llvm::isa<llvm::ConstantExpr>(part); }) ? Kind::kConstants
                                                                                               : Kind::kNone;
    }
    if (support::whole_of(group) != nullptr) return Kind::kWhole;
    if (all([](const llvm::Value* part) { return llvm::isSplatValue(part); })) {
      return last_of(group) != nullptr ? Kind::kSplats : Kind::kNone;
    }
    const bool same = all([&](const llvm::Value* part) { return part == group[0]; });
    if (same) return last_of(group) != nullptr ? Kind::kRepeated : Kind::kNone;
    const auto* first = llvm::dyn_cast<Instruction>(group[0]);
    if (first == nullptr || !all([&](const llvm::Value* part) {
          const auto* instruction = llvm::dyn_cast<Instruction>(part);
          return instruction != nullptr && are_alike(*first, *instruction);
        })) {
      return Kind::kNone;
    }
    if (llvm::isa<llvm::PHINode>(first)) return Kind::kPhis;
    return is_elementwise(*first) && last_of(group) != nullptr ? Kind::kComputed : Kind::kNone;
  }

  // Where one way has the parts side by side, and another has not, the other is the rare one.
  bool add_incoming(const Group& phis, llvm::BasicBlock& block) {
    const Group values = incoming_of(phis, &block);
    const auto before = groups_;
    if (add(values)) return true;
    groups_ = before;
    const auto* first = llvm::cast<llvm::PHINode>(phis[0]);
    const bool rare = llvm::any_of(first->blocks(), [&](const llvm::BasicBlock* other) {
      return support::whole_of(incoming_of(phis, other)) != nullptr;
    });
    if (!rare) return false;
    groups_[key(values)] = {values, Kind::kJoined, nullptr, &block};
    return true;
  }

  // Phis that go on with all the parts where one does.
  bool add_phis(const Group& parts, const llvm::PHINode& one, const llvm::BasicBlock& from) {
    Group phis(parts.size(), nullptr);
    for (const llvm::PHINode& phi : one.getParent()->phis()) {
      const llvm::Value* value = phi.getIncomingValueForBlock(&from);
      for (unsigned i = 0; i < parts.size(); ++i) {
        if (parts[i] != value) continue;
        if (phis[i] != nullptr) return false;
        phis[i] = const_cast<llvm::PHINode*>(&phi);
      }
    }
    return !llvm::is_contained(phis, nullptr) && add(phis);
  }

  bool is_inside(const Instruction& user) const {
    return llvm::any_of(groups_, [&](const auto& entry) {
      const Member& member = entry.second;
      const bool made = member.kind == Kind::kComputed || member.kind == Kind::kPhis;
      return made && llvm::is_contained(member.parts, &user);
    });
  }

  // Whether it is one of the shuffles that put the root together.
  static bool leads_to(const Instruction& user, const llvm::Value* root) {
    if (root == nullptr) return false;
    if (&user == root) return true;
    return llvm::isa<llvm::ShuffleVectorInst>(user) && user.hasOneUse() &&
           leads_to(*llvm::cast<Instruction>(user.user_back()), root);
  }

  Instruction* behind(const Group& group) const {
    Instruction* last = last_of(group);
    if (llvm::isa<llvm::PHINode>(last)) return &*last->getParent()->getFirstInsertionPt();
    return last->getNextNode();
  }

  llvm::Value* compute(const Group& group) {
    const auto* first = llvm::cast<Instruction>(group[0]);
    llvm::SmallVector<llvm::Value*> operands;
    for (unsigned i = 0; i < operands_to_widen(*first); ++i) operands.push_back(build(operands_of(group, i)));
    llvm::IRBuilder<> b(behind(group));
    llvm::Value* made = nullptr;
    if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(first)) {
      llvm::SmallVector<llvm::Type*> types;
      for (unsigned i = 0; i <= operands.size(); ++i) {
        const int of = i == 0 ? -1 : static_cast<int>(i - 1);
        if (!llvm::isVectorIntrinsicWithOverloadTypeAtArg(call->getIntrinsicID(), of)) continue;
        types.push_back(i == 0 ? wide_type(group) : operands[i - 1]->getType());
      }
      made = b.CreateIntrinsic(call->getIntrinsicID(), types, operands);
    } else if (const auto* cast = llvm::dyn_cast<llvm::CastInst>(first)) {
      made = b.CreateCast(cast->getOpcode(), operands[0], wide_type(group));
    } else if (const auto* compare = llvm::dyn_cast<llvm::CmpInst>(first)) {
      made = b.CreateCmp(compare->getPredicate(), operands[0], operands[1]);
    } else if (llvm::isa<llvm::SelectInst>(first)) {
      made = b.CreateSelect(operands[0], operands[1], operands[2]);
    } else if (llvm::isa<llvm::FreezeInst>(first)) {
      made = b.CreateFreeze(operands[0]);
    } else if (const auto* unary = llvm::dyn_cast<llvm::UnaryOperator>(first)) {
      made = b.CreateUnOp(unary->getOpcode(), operands[0]);
    } else {
      made = b.CreateBinOp(llvm::cast<llvm::BinaryOperator>(first)->getOpcode(), operands[0], operands[1]);
    }
    if (auto* written = llvm::dyn_cast<Instruction>(made)) {
      written->copyIRFlags(first);
      for (const llvm::Value* part : group) written->andIRFlags(part);
    }
    return made;
  }

  const llvm::DominatorTree& tree_;
  const llvm::Loop* loop_;
  llvm::MapVector<Key, Member, std::map<Key, unsigned>> groups_;
  unsigned twice_ = 0;
  unsigned repeated_ = 0;
};

// Whether it is stored: there the parts have to be side by side anyway.
bool is_stored(const llvm::ShuffleVectorInst& shuffle) {
  return llvm::any_of(shuffle.users(), [](const llvm::User* user) { return llvm::isa<llvm::StoreInst>(user); });
}

void store_as_computed(llvm::Function& function, const llvm::DominatorTree& tree) {
  llvm::SmallVector<llvm::ShuffleVectorInst*> roots;
  for (Instruction& instruction : llvm::instructions(function)) {
    auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&instruction);
    if (shuffle != nullptr && is_stored(*shuffle)) roots.push_back(shuffle);
  }
  for (llvm::ShuffleVectorInst* root : roots) {
    for (const unsigned count : {2U, 3U, 4U, 8U}) {
      const Group parts = parts_of(*root, count);
      if (parts.empty()) continue;
      Web web(tree, nullptr);
      if (!web.add(parts) || !web.may_go(root)) break;
      root->replaceAllUsesWith(web.build(parts));
      root->eraseFromParent();
      web.take_over();
      break;
    }
  }
}

const llvm::ShuffleVectorInst* shuffle_of(const llvm::Value* value) {
  if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(value)) {
    for (const llvm::Value* incoming : phi->incoming_values()) {
      if (const auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(incoming)) return shuffle;
    }
  }
  return llvm::dyn_cast<llvm::ShuffleVectorInst>(value);
}

// Sums, one for each part, of what is taken from one vector each iteration.
std::vector<Group> sums_of(llvm::BasicBlock& header, llvm::BasicBlock& latch) {
  struct Found {
    Group phis;
    bool twice = false;
  };
  std::map<std::pair<llvm::Value*, unsigned>, Found> found;
  for (llvm::PHINode& phi : header.phis()) {
    const auto* next = llvm::dyn_cast<Instruction>(phi.getIncomingValueForBlock(&latch));
    if (next == nullptr || !phi.getType()->isVectorTy() || !is_elementwise(*next)) continue;
    for (const llvm::Value* operand : next->operands()) {
      const llvm::ShuffleVectorInst* shuffle = shuffle_of(operand);
      if (shuffle == nullptr) continue;
      const unsigned count = support::size_of(shuffle->getOperand(0)) / support::size_of(shuffle);
      const int which = shuffle->getMaskValue(0);
      if (count < 2 || which < 0 || static_cast<unsigned>(which) >= count) continue;
      llvm::Value* whole = support::taken_from(shuffle, count, static_cast<unsigned>(which));
      if (whole == nullptr) continue;
      Found& sums = found[{whole, count}];
      sums.phis.resize(count, nullptr);
      sums.twice |= sums.phis[static_cast<unsigned>(which)] != nullptr;
      sums.phis[static_cast<unsigned>(which)] = &phi;
    }
  }
  std::vector<Group> groups;
  for (const auto& [_, sums] : found) {
    if (!sums.twice && !llvm::is_contained(sums.phis, nullptr)) groups.push_back(sums.phis);
  }
  return groups;
}

void sum_side_by_side(const llvm::LoopInfo& loops, const llvm::DominatorTree& tree) {
  for (const llvm::Loop* loop : loops.getLoopsInPreorder()) {
    if (loop->getLoopLatch() == nullptr) continue;
    for (const Group& sums : sums_of(*loop->getHeader(), *loop->getLoopLatch())) {
      Web web(tree, loop);
      if (!web.add(sums) || !web.may_go(nullptr)) continue;
      web.build_all();
      web.take_over();
    }
  }
}

}  // namespace

llvm::PreservedAnalyses KeepInterleavedPass::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  const auto& loops = analyses.getResult<llvm::LoopAnalysis>(function);
  const auto& tree = analyses.getResult<llvm::DominatorTreeAnalysis>(function);
  store_as_computed(function, tree);
  sum_side_by_side(loops, tree);
  llvm::PreservedAnalyses kept;
  kept.preserveSet<llvm::CFGAnalyses>();
  return kept;
}

}  // namespace anymps::metal::lower::transform
