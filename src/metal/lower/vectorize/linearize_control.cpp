// Blocks and masks. Where lanes part, both sides are run one after the other, each for its lanes; where they stay
// together, branches stay branches. This is partial linearisation (S. Moll and S. Hack, "Partial control-flow
// linearization", PLDI 2018), level by level of the loops: a block is reached with a set of blocks behind it in which
// lanes may wait, and whichever comes first in order is next.
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include "metal/lower/builtins/builtin_lowering.h"
#include "metal/lower/vectorize/vector_writer.h"

namespace anymps::metal::lower::vectorize {
namespace {

using Kind = Shape::Kind;

// A block of fewer instructions is sooner run than skipped.
constexpr unsigned kFewInstructions = 12;

}  // namespace

void Writer::write(llvm::BasicBlock* block) {
  llvm::BasicBlock* first = this->block("first");
  b_.SetInsertPoint(block);
  b_.CreateBr(first);
  write_level(nullptr, nullptr, 0, first);
  forget_at_headers();
}

// Where edges to these blocks lead.
llvm::BasicBlock* Writer::route(Level& level, std::set<unsigned> pending,
                                llvm::ArrayRef<const llvm::BasicBlock*> targets) {
  for (const llvm::BasicBlock* target : targets) {
    const bool again = level.loop != nullptr && target == level.loop->getHeader();
    const auto node = level.node_of.find(target);
    if (node != level.node_of.end() && !again) {
      pending.insert(node->second);
      continue;
    }
    if (level.loop != nullptr && divergence_.leaves_apart(level.loop)) {
      pending.insert(static_cast<unsigned>(level.nodes.size() - 1));
      continue;
    }
    if (!pending.empty() || targets.size() != 1) throw CannotVectorize{"lanes that wait in a loop which others leave"};
    if (again) return level.header;
    return route(*level.outer, level.outer->nodes[level.in_outer].pending, {target});
  }
  return go(level, std::move(pending));
}

llvm::BasicBlock* Writer::go(Level& level, std::set<unsigned> pending) {
  const unsigned next = *pending.begin();
  pending.erase(pending.begin());
  level.nodes[next].pending.insert(pending.begin(), pending.end());
  return level.nodes[next].entry;
}

// Topological order of a loop's blocks, or of the function's; an inner loop is one node.
void Writer::order_level(Level& level) {
  const llvm::LoopInfo& loops = divergence_.loops();
  const auto at_this_level = [&](llvm::BasicBlock* block) -> llvm::BasicBlock* {
    if (level.loop != nullptr && !level.loop->contains(block)) return nullptr;
    const llvm::Loop* inner = loops.getLoopFor(block);
    if (inner == level.loop) return block;
    while (inner != nullptr && inner->getParentLoop() != level.loop) inner = inner->getParentLoop();
    return inner != nullptr ? inner->getHeader() : nullptr;
  };
  const auto next_of = [&](llvm::BasicBlock* block) {
    llvm::SmallVector<llvm::BasicBlock*> next;
    const llvm::Loop* inner = loops.getLoopFor(block);
    if (inner != level.loop) {
      inner->getExitBlocks(next);
    } else {
      next.append(llvm::succ_begin(block), llvm::succ_end(block));
    }
    llvm::SmallVector<llvm::BasicBlock*> here;
    for (llvm::BasicBlock* one : next) {
      if (level.loop != nullptr && one == level.loop->getHeader()) continue;
      if (llvm::BasicBlock* node = at_this_level(one)) here.push_back(node);
    }
    return here;
  };
  struct Visit {
    llvm::BasicBlock* block;
    llvm::SmallVector<llvm::BasicBlock*> next;
  };
  std::vector<llvm::BasicBlock*> finished;
  llvm::SmallPtrSet<llvm::BasicBlock*, 32> seen;
  std::vector<Visit> stack;
  const auto visit = [&](llvm::BasicBlock* block) {
    if (seen.insert(block).second) stack.push_back({block, next_of(block)});
  };
  visit(level.loop != nullptr ? level.loop->getHeader() : &thread_.function->getEntryBlock());
  while (!stack.empty()) {
    if (stack.back().next.empty()) {
      finished.push_back(stack.back().block);
      stack.pop_back();
    } else {
      visit(stack.back().next.pop_back_val());
    }
  }
  for (llvm::BasicBlock* original : llvm::reverse(finished)) {
    Node node;
    node.original = original;
    llvm::Loop* loop = loops.getLoopFor(original);
    node.loop = loop != level.loop ? loop : nullptr;
    while (node.loop != nullptr && node.loop->getParentLoop() != level.loop) node.loop = node.loop->getParentLoop();
    const auto index = static_cast<unsigned>(level.nodes.size());
    node.entry = index == 0 ? level.header : block(original->getName());
    if (node.loop == nullptr) {
      level.node_of[original] = index;
    } else {
      for (const llvm::BasicBlock* inner : node.loop->blocks()) level.node_of[inner] = index;
    }
    level.nodes.push_back(std::move(node));
  }
}

void Writer::write_level(llvm::Loop* loop, Level* outer, unsigned in_outer, llvm::BasicBlock* header) {
  Level level;
  level.loop = loop;
  level.outer = outer;
  level.in_outer = in_outer;
  level.header = header;
  order_level(level);
  if (loop != nullptr && divergence_.leaves_apart(loop)) {
    Node end;
    end.entry = block("round");
    level.nodes.push_back(std::move(end));
  }
  for (unsigned i = 0; i < level.nodes.size(); ++i) write_node(level, i);
}

// Whether it costs or does enough that it should not be run for nobody. What reads or writes memory, or depends on
// values that nobody set, must not be.
bool Writer::worth_skipping(const llvm::BasicBlock& original) const {
  unsigned count = 0;
  for (const llvm::Instruction& instruction : original) {
    if (llvm::isa<llvm::PHINode>(instruction)) continue;
    if (instruction.mayReadOrWriteMemory() || llvm::isa<llvm::CallInst>(instruction)) return true;
    if (instruction.isIntDivRem()) return true;
    ++count;
  }
  if (count > kFewInstructions) return true;
  // A branch that lanes share, on a value that may not be there; a value that they share and would set for nobody.
  const llvm::Instruction* end = original.getTerminator();
  if (end->getNumSuccessors() > 1 && !divergence_.branches_apart(&original)) return true;
  for (const llvm::BasicBlock* next : llvm::successors(&original)) {
    for (const llvm::PHINode& phi : next->phis()) {
      if (divergence_.shape(&phi).kind != Kind::kVarying) return true;
    }
  }
  return false;
}

void Writer::write_node(Level& level, unsigned index) {
  Node& node = level.nodes[index];
  b_.SetInsertPoint(node.entry);
  scalars_.clear();
  vectors_.clear();
  asked_.clear();
  if (node.original == nullptr) return write_loop_end(level);
  const llvm::BasicBlock* lanes = divergence_.same_lanes(node.original);
  const bool whole = divergence_.whole(node.original);
  if (!node.pending.empty() && !whole && index != 0 && (node.loop != nullptr || worth_skipping(*node.original))) {
    const bool own = lanes == node.original;
    llvm::Value* here = kept(mask_type(), mask_variable(own ? arriving_ : running_, lanes));
    llvm::BasicBlock* body = block(node.original->getName() + ".some");
    b_.CreateCondBr(any(here), body, go(level, node.pending));
    b_.SetInsertPoint(body);
  }
  if (node.loop != nullptr) {
    llvm::BasicBlock* header = block(node.original->getName() + ".loop");
    b_.CreateBr(header);
    return write_level(node.loop, &level, index, header);
  }
  if (level.loop != nullptr && index == 0) {
    headers_.emplace_back(level.loop, node.entry);
    // On a GPU simdgroups run side by side, and kernels that lack a barrier at the end of an iteration work there.
    const auto waits = [](const llvm::BasicBlock* block) { return builtins::waits_for_threadgroup(*block); };
    if (surroundings_.turn && llvm::any_of(level.loop->blocks(), waits)) surroundings_.turn(b_);
  }
  if (whole) {
    mask_ = active_;
  } else if (lanes == node.original) {
    llvm::AllocaInst* arriving = mask_variable(arriving_, lanes);
    mask_ = kept(mask_type(), arriving);
    keep(llvm::Constant::getNullValue(mask_type()), arriving);
    keep(mask_, mask_variable(running_, lanes));
  } else {
    mask_ = kept(mask_type(), mask_variable(running_, lanes));
  }
  write_phis(*node.original);
  for (const llvm::Instruction& instruction : *node.original) {
    if (!llvm::isa<llvm::PHINode>(instruction) && !instruction.isTerminator()) write_instruction(instruction);
  }
  write_terminator(level, node);
}

// Another iteration while some lane wants one.
void Writer::write_loop_end(Level& level) {
  llvm::Value* again = kept(mask_type(), mask_variable(arriving_, level.loop->getHeader()));
  llvm::SmallVector<llvm::BasicBlock*> exits;
  level.loop->getUniqueExitBlocks(exits);
  if (exits.empty()) throw CannotVectorize{"a loop without an end"};
  const llvm::SmallVector<const llvm::BasicBlock*> targets(exits.begin(), exits.end());
  llvm::BasicBlock* out = route(*level.outer, level.outer->nodes[level.in_outer].pending, targets);
  b_.CreateCondBr(any(again), level.header, out);
}

llvm::AllocaInst* Writer::mask_variable(llvm::DenseMap<const llvm::BasicBlock*, llvm::AllocaInst*>& variables,
                                        const llvm::BasicBlock* original) {
  llvm::AllocaInst*& place = variables[original];
  if (place == nullptr) {
    place = variable(kept_type(mask_type()));
    llvm::IRBuilder<>(place->getParent(), std::next(place->getIterator()))
        .CreateStore(llvm::Constant::getNullValue(place->getAllocatedType()), place);
  }
  return place;
}

llvm::AllocaInst* Writer::phi_variable(const llvm::PHINode& phi) {
  llvm::AllocaInst*& place = phi_scalars_[&phi];
  if (place == nullptr) place = variable(phi.getType());
  return place;
}

llvm::SmallVector<llvm::AllocaInst*, 4>& Writer::phi_variables(const llvm::PHINode& phi) {
  auto& places = phi_vectors_[&phi];
  if (places.empty()) {
    for (const Leaf& leaf : leaves_of(phi.getType(), layout_)) {
      places.push_back(variable(kept_type(lanes_of(leaf.type))));
    }
  }
  return places;
}

void Writer::write_phis(const llvm::BasicBlock& original) {
  for (const llvm::PHINode& phi : original.phis()) {
    if (divergence_.shape(&phi).kind != Kind::kVarying) {
      define(phi, b_.CreateLoad(phi.getType(), phi_variable(phi)));
      continue;
    }
    Vectors values;
    const Leaves leaves = leaves_of(phi.getType(), layout_);
    const auto& places = phi_variables(phi);
    for (unsigned i = 0; i < places.size(); ++i) values.push_back(kept(lanes_of(leaves[i].type), places[i]));
    define(phi, values);
  }
}

// What goes along with lanes on their way from block to block.
void Writer::write_edge(const llvm::BasicBlock* from, const llvm::BasicBlock* to, llvm::Value* mask) {
  if (divergence_.same_lanes(to) == to) {
    llvm::AllocaInst* arriving = mask_variable(arriving_, to);
    llvm::Value* more = mask != nullptr ? mask : whole_mask();
    keep(b_.CreateOr(kept(mask_type(), arriving), more), arriving);
  }
  const llvm::Loop* loop = divergence_.loops().getLoopFor(to);
  const bool header = loop != nullptr && loop->getHeader() == to;
  bool out_of_apart = false;
  for (const llvm::Loop* left = divergence_.loops().getLoopFor(from); left != nullptr && !left->contains(to);
       left = left->getParentLoop()) {
    out_of_apart |= divergence_.leaves_apart(left);
  }
  // Elsewhere the lanes that come this way are all there are, or nobody asks for the others.
  const bool blend = mask != nullptr && (out_of_apart || (!header && to->getSinglePredecessor() == nullptr));
  // All are read before one is written: a phi may take another's value of the last iteration.
  llvm::SmallVector<std::pair<llvm::Value*, llvm::AllocaInst*>> moves;
  for (const llvm::PHINode& phi : to->phis()) {
    const llvm::Value* value = phi.getIncomingValueForBlock(from);
    if (llvm::isa<llvm::UndefValue>(value)) continue;
    if (divergence_.shape(&phi).kind != Kind::kVarying) {
      moves.emplace_back(scalar(value), phi_variable(phi));
      continue;
    }
    const Vectors parts = vectors(value);
    auto& places = phi_variables(phi);
    for (unsigned i = 0; i < parts.size(); ++i) {
      llvm::Value* part = parts[i];
      if (blend) part = b_.CreateSelect(mask, part, kept(part->getType(), places[i]));
      moves.emplace_back(part, places[i]);
    }
  }
  for (const auto& [value, place] : moves) keep(value, place);
}

void Writer::write_terminator(Level& level, Node& node) {
  const llvm::Instruction* end = node.original->getTerminator();
  if (llvm::isa<llvm::ReturnInst>(end)) return surroundings_.end(b_);
  if (llvm::isa<llvm::UnreachableInst>(end)) throw CannotVectorize{"code that cannot be reached"};
  const auto* branch = llvm::dyn_cast<llvm::BranchInst>(end);
  if (branch == nullptr) throw CannotVectorize{std::string("a terminator ") + end->getOpcodeName()};
  if (branch->isUnconditional()) {
    write_edge(node.original, branch->getSuccessor(0), mask_);
    b_.CreateBr(route(level, node.pending, {branch->getSuccessor(0)}));
    return;
  }
  if (divergence_.is_guard(node.original)) return write_guard(level, node, *branch);
  if (divergence_.branches_apart(node.original)) return write_branch_apart(level, node, *branch);
  llvm::BasicBlock* sides[2] = {block("yes"), block("no")};
  b_.CreateCondBr(scalar(branch->getCondition()), sides[0], sides[1]);
  write_sides(level, node, *branch, sides);
}

void Writer::write_sides(Level& level, Node& node, const llvm::BranchInst& branch,
                         llvm::ArrayRef<llvm::BasicBlock*> sides) {
  const auto scalars = scalars_;
  const auto vectors = vectors_;
  for (unsigned i = 0; i < 2; ++i) {
    b_.SetInsertPoint(sides[i]);
    scalars_ = scalars;
    vectors_ = vectors;
    write_edge(node.original, branch.getSuccessor(i), mask_);
    b_.CreateBr(route(level, node.pending, {branch.getSuccessor(i)}));
  }
}

void Writer::write_branch_apart(Level& level, Node& node, const llvm::BranchInst& branch) {
  llvm::Value* condition = vector(branch.getCondition());
  const llvm::BasicBlock* yes = branch.getSuccessor(0);
  const llvm::BasicBlock* no = branch.getSuccessor(1);
  const auto among = [&](llvm::Value* truth) { return mask_ != nullptr ? b_.CreateLogicalAnd(mask_, truth) : truth; };
  write_edge(node.original, yes, among(condition));
  write_edge(node.original, no, among(b_.CreateNot(condition)));
  b_.CreateBr(route(level, node.pending, {yes, no}));
}

// Lanes go the same way, or these threads are run one by one instead.
void Writer::write_guard(Level& level, Node& node, const llvm::BranchInst& branch) {
  const llvm::Value* condition = branch.getCondition();
  llvm::Value* all = surely(condition, true);
  llvm::Value* none = surely(condition, false);
  if (all == nullptr) all = b_.CreateAndReduce(vector(condition));
  if (none == nullptr) none = b_.CreateNot(any(vector(condition)));
  llvm::BasicBlock* some = block("some");
  llvm::BasicBlock* sides[2] = {block("yes"), block("no")};
  b_.CreateCondBr(all, sides[0], some);
  b_.SetInsertPoint(some);
  b_.CreateCondBr(none, sides[1], surroundings_.one_by_one());
  write_sides(level, node, branch, sides);
}

// What an iteration of a loop has set is of no use to the next one; if LLVM does not know, it keeps it in registers.
void Writer::forget_at_headers() {
  for (const auto& [loop, header] : headers_) {
    b_.SetInsertPoint(header, header->getFirstInsertionPt());
    const auto forget = [&](llvm::AllocaInst* place) {
      b_.CreateStore(llvm::PoisonValue::get(place->getAllocatedType()), place);
    };
    for (const llvm::BasicBlock* original : loop->blocks()) {
      for (const llvm::Instruction& instruction : *original) {
        if (llvm::AllocaInst* place = scalar_variables_.lookup(&instruction)) forget(place);
        if (llvm::AllocaInst* place = asked_variables_.lookup(&instruction)) forget(place);
        const auto places = vector_variables_.find(&instruction);
        if (places == vector_variables_.end()) continue;
        for (llvm::AllocaInst* place : places->second) forget(place);
      }
      llvm::AllocaInst* running = running_.lookup(original);
      if (running != nullptr && original != loop->getHeader()) {
        keep(llvm::Constant::getNullValue(mask_type()), running);
      }
    }
  }
}

}  // namespace anymps::metal::lower::vectorize
