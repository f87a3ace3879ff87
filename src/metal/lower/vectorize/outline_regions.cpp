#include "metal/lower/vectorize/outline_regions.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <optional>

#include "metal/lower/builtins/builtin_lowering.h"
#include "metal/lower/vectorize/vector_writer.h"

namespace anymps::metal::lower::vectorize {
namespace {

using llvm::Instruction;
using Kind = Shape::Kind;

// What is computed for each number that goes through memory must be worth it.
constexpr std::size_t kWork = 4;
constexpr std::size_t kWorkInLoops = 2;
constexpr std::size_t kMostLeft = 32;

bool belongs_to_all(const Instruction& instruction) {
  return builtins::cooperative_call(instruction) != nullptr ||
         llvm::isa<llvm::AllocaInst, llvm::ReturnInst, llvm::UnreachableInst>(instruction) || instruction.isAtomic();
}

// What lanes share or count, or ask of that: sooner computed twice than passed on.
bool is_cheap(const Instruction& instruction, const Divergence& divergence) {
  return divergence.shape(&instruction).kind != Kind::kVarying ||
         (instruction.getType()->isIntegerTy(1) && !llvm::isa<llvm::PHINode>(instruction) &&
          divergence.by_position(&instruction));
}

struct Region {
  llvm::SmallSetVector<llvm::BasicBlock*, 8> blocks;  // the first is the entry
  llvm::BasicBlock* next = nullptr;                   // the only block behind it
  unsigned lanes = 0;                                 // that run it at a time
  bool has(const llvm::BasicBlock* block) const { return blocks.contains(const_cast<llvm::BasicBlock*>(block)); }
};

class Finder {
 public:
  Finder(const Thread& thread, const Divergence& divergence, unsigned lanes, unsigned most_leaves)
      : function_(*thread.function),
        divergence_(divergence),
        after_(*thread.function),
        few_lanes_(lanes),
        most_leaves_(most_leaves) {}

  std::vector<Region> run() {
    std::vector<Region> found;
    for (llvm::BasicBlock* block : llvm::ReversePostOrderTraversal<llvm::Function*>(&function_)) {
      if (taken_.contains(block)) continue;
      std::optional<Region> region = from(block);
      if (!region) continue;
      taken_.insert(region->blocks.begin(), region->blocks.end());
      found.push_back(std::move(*region));
    }
    return found;
  }

 private:
  // The largest region that is worth it and begins with this block.
  std::optional<Region> from(llvm::BasicBlock* entry) const {
    std::optional<Region> best;
    const llvm::DomTreeNode* node = after_.getNode(entry);
    while (node != nullptr && node->getIDom() != nullptr && node->getIDom()->getBlock() != nullptr) {
      node = node->getIDom();
      if (divergence_.loops().getLoopFor(node->getBlock()) != divergence_.loops().getLoopFor(entry)) continue;
      std::optional<Region> region = between(entry, node->getBlock());
      if (!region) break;
      region->lanes = lanes_for(*region);
      if (region->lanes != 0) best = std::move(region);
    }
    return best;
  }

  std::optional<Region> between(llvm::BasicBlock* entry, llvm::BasicBlock* next) const {
    const llvm::Loop* loop = divergence_.loops().getLoopFor(entry);
    Region region;
    region.next = next;
    region.blocks.insert(entry);
    for (std::size_t i = 0; i < region.blocks.size(); ++i) {
      llvm::BasicBlock* block = region.blocks[i];
      if (taken_.contains(block) || llvm::any_of(*block, belongs_to_all)) return std::nullopt;
      for (llvm::BasicBlock* behind : llvm::successors(block)) {
        if (behind == entry || (loop != nullptr && !loop->contains(behind))) return std::nullopt;
        if (behind != next) region.blocks.insert(behind);
      }
    }
    for (llvm::BasicBlock* block : region.blocks) {
      if (block == entry) continue;
      for (llvm::BasicBlock* before : llvm::predecessors(block)) {
        if (!region.has(before)) return std::nullopt;
      }
    }
    return region;
  }

  std::size_t leaves(const llvm::Value& value) const {
    if (value.getType()->isVoidTy() || divergence_.shape(&value).kind != Kind::kVarying) return 0;
    return leaves_of(value.getType(), function_.getParent()->getDataLayout()).size();
  }

  struct Weight {
    std::size_t together = 0;  // numbers that one block loads or keeps from round to round, at most
    std::size_t kept = 0;      // of those, kept
    std::size_t work = 0;
    std::size_t passed = 0;  // through memory
    std::size_t left = 0;
    bool loops = false;
    bool gathers = false;
    bool shares = false;  // leaves what lanes share, which would be lost
  };

  Weight weigh(const Region& region) const {
    constexpr std::size_t kRounds = 4;
    Weight weight;
    llvm::SmallPtrSet<const llvm::Value*, 16> inputs;
    for (llvm::BasicBlock* block : region.blocks) {
      const bool again = divergence_.loops().getLoopFor(block) != divergence_.loops().getLoopFor(region.blocks[0]);
      weight.loops |= again;
      std::size_t loaded = 0;
      std::size_t kept = 0;
      for (const Instruction& instruction : *block) {
        const bool phi = llvm::isa<llvm::PHINode>(instruction);
        const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
        const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
        if (phi && block == region.blocks[0]) continue;
        if (phi) kept += leaves(instruction);
        if (load != nullptr) {
          loaded += leaves(instruction);
          weight.gathers |= divergence_.shape(load->getPointerOperand()).kind == Kind::kVarying;
        }
        if (!is_rearranging(instruction)) {
          weight.work +=
              (store != nullptr ? leaves(*store->getValueOperand()) : leaves(instruction)) * (again ? kRounds : 1);
        }
        for (const llvm::Use& use : instruction.operands()) {
          const auto* from = llvm::dyn_cast<Instruction>(use);
          if (from != nullptr && is_before(*from, region) && inputs.insert(from).second) weight.passed += leaves(*from);
        }
        if (!leaves_it(instruction, region)) continue;
        weight.shares |= leaves(instruction) == 0 && !may_stay(instruction, region);
        weight.left += leaves(instruction);
      }
      weight.kept = std::max(weight.kept, kept);
      weight.together = std::max(weight.together, loaded + kept);
    }
    for (const llvm::PHINode& phi : region.next->phis()) {
      const bool from_it = llvm::any_of(phi.blocks(), [&](llvm::BasicBlock* at) { return region.has(at); });
      weight.shares |= from_it && divergence_.shape(&phi).kind != Kind::kVarying;
    }
    // What a loop is given it keeps too.
    if (weight.loops) weight.kept += weight.passed;
    weight.together = std::max(weight.together, weight.kept);
    return weight;
  }

  static bool is_rearranging(const Instruction& instruction) {
    return llvm::isa<llvm::InsertElementInst, llvm::ExtractElementInst, llvm::ShuffleVectorInst, llvm::BitCastInst>(
        instruction);
  }

  static bool is_before(const Instruction& instruction, const Region& region) {
    return !region.has(instruction.getParent()) ||
           (llvm::isa<llvm::PHINode>(instruction) && instruction.getParent() == region.blocks[0]);
  }

  // How many lanes at a time; 0 where all are better.
  unsigned lanes_for(const Region& region) const {
    const Weight weight = weigh(region);
    // What would take all registers.
    if (weight.together < most_leaves_ || weight.shares || weight.left > kMostLeft) return 0;
    if (weight.work < (weight.loops ? kWorkInLoops : kWork) * (weight.passed + weight.left)) return 0;
    // Many, if they can be: lanes that read side by side read more at once.
    const bool few_kept = weight.loops && !weight.gathers && weight.kept <= most_leaves_;
    return few_kept ? few_lanes_ * 2 : few_lanes_;
  }

 public:
  static bool leaves_it(const Instruction& instruction, const Region& region) {
    return llvm::any_of(instruction.users(), [&](const llvm::User* user) {
      const auto* at = llvm::cast<Instruction>(user);
      return !region.has(at->getParent());
    });
  }

  // What lanes share and is made of what was there before the region.
  bool may_stay(const Instruction& instruction, const Region& region) const {
    if (instruction.getParent() != region.blocks[0] || !is_cheap(instruction, divergence_)) return false;
    if (llvm::isa<llvm::PHINode>(instruction)) return true;
    const bool reads =
        instruction.mayReadFromMemory() && !instruction.hasMetadata(llvm::LLVMContext::MD_invariant_load);
    if (reads || instruction.mayWriteToMemory() || instruction.isTerminator()) return false;
    return llvm::all_of(instruction.operands(), [&](const llvm::Use& use) {
      const auto* from = llvm::dyn_cast<Instruction>(use);
      return from == nullptr || !region.has(from->getParent()) || may_stay(*from, region);
    });
  }

 private:
  llvm::Function& function_;
  const Divergence& divergence_;
  const llvm::PostDominatorTree after_;
  const unsigned few_lanes_;
  const std::size_t most_leaves_;
  llvm::SmallPtrSet<const llvm::BasicBlock*, 16> taken_;
};

// Makes a function of a region.
class Taker {
 public:
  // `calls`: of parts that were taken before, and now of this one.
  Taker(const Thread& thread, const Divergence& divergence, const Finder& finder, Region& region, bool some,
        llvm::SmallVectorImpl<llvm::Value*>& calls)
      : thread_(thread),
        divergence_(divergence),
        region_(region),
        calls_(calls),
        layout_(thread.function->getParent()->getDataLayout()),
        context_(thread.function->getContext()),
        outlined_(std::make_unique<OutlinedRegion>()) {
    outlined_->thread.lanes = region.lanes;
    outlined_->masked = some || !divergence.whole(region.blocks[0]);
    leave_outside(finder);
  }

  std::unique_ptr<OutlinedRegion> run() {
    llvm::BasicBlock* last = one_way_out();
    find_inputs();
    find_results();
    declare();
    move(last);
    call(last);
    return std::move(outlined_);
  }

 private:
  // Phis, and what lanes share, stay in the thread.
  void leave_outside(const Finder& finder) {
    llvm::BasicBlock* entry = region_.blocks[0];
    llvm::SmallVector<Instruction*> staying;
    for (Instruction& instruction : *entry) {
      if (!llvm::isa<llvm::PHINode>(instruction) && finder.may_stay(instruction, region_))
        staying.push_back(&instruction);
    }
    llvm::BasicBlock* first = entry->splitBasicBlock(entry->getFirstNonPHI(), "part");
    for (Instruction* instruction : staying) instruction->moveBefore(entry->getTerminator());
    Region moved;
    moved.next = region_.next;
    moved.blocks.insert(first);
    for (llvm::BasicBlock* block : llvm::drop_begin(region_.blocks)) moved.blocks.insert(block);
    region_ = std::move(moved);
    entry_before_ = entry;
  }

  llvm::BasicBlock* one_way_out() {
    llvm::SmallVector<llvm::BasicBlock*> before;
    for (llvm::BasicBlock* block : llvm::predecessors(region_.next)) {
      if (region_.has(block) && !llvm::is_contained(before, block)) before.push_back(block);
    }
    llvm::BasicBlock* last = llvm::SplitBlockPredecessors(region_.next, before, ".out");
    region_.blocks.insert(last);
    return last;
  }

  bool is_outside(const llvm::Value* value) const {
    if (const auto* argument = llvm::dyn_cast<llvm::Argument>(value)) return argument->getParent() == thread_.function;
    const auto* instruction = llvm::dyn_cast<Instruction>(value);
    return instruction != nullptr && instruction->getFunction() == thread_.function &&
           !region_.has(instruction->getParent());
  }

  // What another part has left is not among the divergence.
  bool is_left(const llvm::Value* value) const {
    const auto* extract = llvm::dyn_cast<llvm::ExtractValueInst>(value);
    return extract != nullptr && llvm::is_contained(calls_, extract->getAggregateOperand());
  }
  Kind kind_of(const llvm::Value* value) const {
    return is_left(value) ? Kind::kVarying : divergence_.shape(value).kind;
  }

  // A number that grows with the lane is computed again, down to what cannot be.
  bool is_made_again(const llvm::Value* value) const {
    const auto* instruction = llvm::dyn_cast<Instruction>(value);
    return instruction != nullptr && kind_of(value) != Kind::kUniform && !llvm::isa<llvm::PHINode>(instruction) &&
           !is_left(value) && is_cheap(*instruction, divergence_);
  }

  void find_input(llvm::Value* value) {
    if (!is_outside(value) || value == thread_.lane() || !seen_.insert(value).second) return;
    if (is_made_again(value)) {
      for (llvm::Value* operand : llvm::cast<Instruction>(value)->operands()) find_input(operand);
      return;
    }
    inputs_.push_back(value);
    outlined_->inputs.push_back(kind_of(value));
  }

  void find_inputs() {
    for (llvm::BasicBlock* block : region_.blocks) {
      for (Instruction& instruction : *block) {
        for (llvm::Value* operand : instruction.operands()) find_input(operand);
      }
    }
  }

  void find_results() {
    for (llvm::BasicBlock* block : region_.blocks) {
      for (Instruction& instruction : *block) {
        if (Finder::leaves_it(instruction, region_)) results_.push_back(&instruction);
      }
    }
  }

  void add_rows(llvm::Type* type) {
    for (const Leaf& leaf : leaves_of(type, layout_)) {
      llvm::Type* stored = leaf.type->isIntegerTy(1) ? llvm::Type::getInt8Ty(context_) : leaf.type;
      outlined_->rows.push_back({stored, outlined_->bytes});
      outlined_->bytes += llvm::alignTo(layout_.getTypeStoreSize(stored) * thread_.lanes, OutlinedRegion::kAlignment);
    }
  }

  // Both functions: what stands in the thread, and what has the code.
  void declare() {
    llvm::Type* number = llvm::Type::getInt32Ty(context_);
    llvm::SmallVector<llvm::Type*> given;
    llvm::SmallVector<llvm::Type*> types;
    for (unsigned i = 0; i < inputs_.size(); ++i) {
      llvm::Type* type = inputs_[i]->getType();
      types.push_back(type);
      if (outlined_->inputs[i] == Kind::kVarying) {
        add_rows(type);
        continue;
      }
      given.push_back(type);
      if (outlined_->inputs[i] == Kind::kAffine) given.push_back(OutlinedRegion::step_type(type));
    }
    if (outlined_->masked) add_rows(llvm::Type::getInt1Ty(context_));
    llvm::SmallVector<llvm::Type*> left;
    for (const Instruction* result : results_) left.push_back(result->getType());
    for (llvm::Type* type : left) add_rows(type);
    given.append({llvm::PointerType::get(context_, 0), number, number});
    llvm::Module& module = *thread_.function->getParent();
    const auto make = [&](llvm::Type* result, llvm::ArrayRef<llvm::Type*> of, llvm::StringRef name) {
      auto* function = llvm::Function::Create(llvm::FunctionType::get(result, of, false),
                                              llvm::Function::ExternalLinkage, name, module);
      function->setDoesNotThrow();
      return function;
    };
    outlined_->call = make(llvm::StructType::get(context_, left), types, kPart);
    outlined_->thread.function = make(llvm::Type::getVoidTy(context_), given, "part.thread");
    outlined_->thread.function->setLinkage(llvm::Function::InternalLinkage);
    builtins::copy_denormals(*thread_.function, *outlined_->thread.function);
  }

  llvm::Value* row(llvm::IRBuilder<>& b, unsigned index) {
    const OutlinedRegion::Row& row = outlined_->rows[index];
    llvm::Function* function = outlined_->thread.function;
    llvm::Value* start =
        b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), function->getArg(function->arg_size() - 3), row.offset);
    return b.CreateInBoundsGEP(row.type, start, b.CreateZExt(place_, b.getInt64Ty()));
  }

  llvm::Value* read(llvm::IRBuilder<>& b, llvm::Type* type, unsigned& next) {
    if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type)) {
      llvm::Value* whole = llvm::PoisonValue::get(type);
      for (unsigned i = 0; i < vector->getNumElements(); ++i) {
        whole = b.CreateInsertElement(whole, read(b, vector->getElementType(), next), i);
      }
      return whole;
    }
    if (type->isAggregateType()) {
      llvm::Value* whole = llvm::PoisonValue::get(type);
      const unsigned count =
          type->isStructTy() ? type->getStructNumElements() : static_cast<unsigned>(type->getArrayNumElements());
      for (unsigned i = 0; i < count; ++i) {
        llvm::Type* member = llvm::ExtractValueInst::getIndexedType(type, i);
        whole = b.CreateInsertValue(whole, read(b, member, next), i);
      }
      return whole;
    }
    const unsigned index = next++;
    llvm::Value* value = b.CreateLoad(outlined_->rows[index].type, row(b, index));
    return type->isIntegerTy(1) ? b.CreateTrunc(value, type) : value;
  }

  void write(llvm::IRBuilder<>& b, llvm::Value* value, unsigned& next) {
    llvm::Type* type = value->getType();
    if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type)) {
      for (unsigned i = 0; i < vector->getNumElements(); ++i) write(b, b.CreateExtractElement(value, i), next);
    } else if (type->isAggregateType()) {
      const unsigned count =
          type->isStructTy() ? type->getStructNumElements() : static_cast<unsigned>(type->getArrayNumElements());
      for (unsigned i = 0; i < count; ++i) write(b, b.CreateExtractValue(value, i), next);
    } else {
      const unsigned index = next++;
      b.CreateStore(type->isIntegerTy(1) ? b.CreateZExt(value, b.getInt8Ty()) : value, row(b, index));
    }
  }

  // A lane of the simdgroup is one of these lanes, and the first of them.
  llvm::Value* made_with_lane(llvm::IRBuilder<>& b, Instruction& sum, llvm::Value* other) {
    auto* written = llvm::cast<Instruction>(b.CreateAdd(b.CreateAdd(other, begin_), outlined_->thread.lane()));
    written->copyIRFlags(&sum);
    return written;
  }

  llvm::Value* inside(llvm::IRBuilder<>& b, llvm::Value* value) {
    if (value == thread_.lane()) return place_;
    if (!is_outside(value)) return value;
    llvm::Value*& known = inside_[value];
    if (known != nullptr) return known;
    auto* original = llvm::cast<Instruction>(value);
    llvm::Value* made = nullptr;
    if (llvm::Value* other = beside_lane(*original)) {
      made = made_with_lane(b, *original, inside(b, other));
    } else {
      Instruction* again = original->clone();
      for (llvm::Use& operand : again->operands()) operand.set(inside(b, operand));
      made = b.Insert(again);
    }
    return inside_[value] = made;
  }

  // The other number of "position + lane".
  llvm::Value* beside_lane(Instruction& instruction) const {
    if (instruction.getOpcode() != Instruction::Add) return nullptr;
    for (const unsigned i : {0U, 1U}) {
      if (instruction.getOperand(i) == thread_.lane()) return instruction.getOperand(1 - i);
    }
    return nullptr;
  }

  void move(llvm::BasicBlock* last) {
    llvm::Function* function = outlined_->thread.function;
    begin_ = function->getArg(function->arg_size() - 2);
    auto* entry = llvm::BasicBlock::Create(context_, "entry", function);
    llvm::IRBuilder<> b(entry);
    place_ = b.CreateAdd(begin_, outlined_->thread.lane(), "", /*HasNUW=*/true, /*HasNSW=*/true);
    unsigned argument = 0;
    unsigned next = 0;
    for (unsigned i = 0; i < inputs_.size(); ++i) {
      llvm::Value*& made = inside_[inputs_[i]];
      if (outlined_->inputs[i] == Kind::kVarying) {
        made = read(b, inputs_[i]->getType(), next);
        continue;
      }
      made = function->getArg(argument++);
      if (outlined_->inputs[i] == Kind::kUniform) continue;
      made = OutlinedRegion::at(b, made, function->getArg(argument++), outlined_->thread.lane());
    }
    llvm::Value* takes_part = outlined_->masked ? read(b, b.getInt1Ty(), next) : nullptr;
    for (llvm::BasicBlock* block : region_.blocks) {
      block->removeFromParent();
      block->insertInto(function);
    }
    for (llvm::BasicBlock* block : region_.blocks) {
      for (Instruction& instruction : llvm::make_early_inc_range(*block)) {
        if (llvm::Value* other = beside_lane(instruction)) {
          llvm::IRBuilder<> here(&instruction);
          instruction.replaceAllUsesWith(made_with_lane(here, instruction, inside(b, other)));
          instruction.eraseFromParent();
          continue;
        }
        for (llvm::Use& operand : instruction.operands()) {
          if (operand == thread_.lane() || is_outside(operand)) operand.set(inside(b, operand));
        }
      }
    }
    last->getTerminator()->eraseFromParent();
    auto* end = llvm::BasicBlock::Create(context_, "end", function);
    llvm::BranchInst::Create(end, last);
    if (takes_part != nullptr) {
      b.CreateCondBr(takes_part, region_.blocks[0], end);
    } else {
      b.CreateBr(region_.blocks[0]);
    }
    b.SetInsertPoint(end);
    llvm::SmallVector<llvm::Value*> left;
    for (Instruction* result : results_) {
      llvm::Value* value = result;
      if (takes_part != nullptr) {
        llvm::PHINode* phi = b.CreatePHI(result->getType(), 2);
        phi->addIncoming(result, last);
        phi->addIncoming(llvm::PoisonValue::get(result->getType()), entry);
        value = phi;
      }
      left.push_back(value);
    }
    for (llvm::Value* value : left) write(b, value, next);
    b.CreateRetVoid();
  }

  void call(llvm::BasicBlock* last) {
    llvm::Instruction* end = entry_before_->getTerminator();
    llvm::IRBuilder<> b(end);
    llvm::CallInst* call = b.CreateCall(outlined_->call, inputs_);
    calls_.push_back(call);
    for (unsigned i = 0; i < results_.size(); ++i) {
      llvm::Value* outside = b.CreateExtractValue(call, i);
      results_[i]->replaceUsesWithIf(outside, [&](llvm::Use& use) {
        return llvm::cast<Instruction>(use.getUser())->getFunction() == thread_.function;
      });
    }
    b.CreateBr(region_.next);
    end->eraseFromParent();
    for (llvm::PHINode& phi : region_.next->phis()) phi.replaceIncomingBlockWith(last, entry_before_);
  }

  const Thread& thread_;
  const Divergence& divergence_;
  Region& region_;
  llvm::SmallVectorImpl<llvm::Value*>& calls_;
  const llvm::DataLayout& layout_;
  llvm::LLVMContext& context_;
  std::unique_ptr<OutlinedRegion> outlined_;
  llvm::BasicBlock* entry_before_ = nullptr;  // what stays of the entry
  llvm::SmallVector<llvm::Value*> inputs_;
  llvm::SmallVector<Instruction*> results_;
  llvm::SmallPtrSet<const llvm::Value*, 16> seen_;
  llvm::DenseMap<const llvm::Value*, llvm::Value*> inside_;
  llvm::Value* begin_ = nullptr;
  llvm::Value* place_ = nullptr;  // among the lanes of the simdgroup
};

}  // namespace

void separate_cooperative_calls(llvm::Function& function) {
  llvm::SmallVector<llvm::BasicBlock*> blocks;
  for (llvm::BasicBlock& block : function) blocks.push_back(&block);
  for (llvm::BasicBlock* block : blocks) {
    Instruction* first = block->getFirstNonPHI();
    bool before = belongs_to_all(*first);
    for (Instruction* at = first->getNextNode(); at != nullptr;) {
      Instruction* next = at->getNextNode();
      const bool now = belongs_to_all(*at);
      const bool branch = at->isTerminator() && !now;
      if (now != before && !branch) block = block->splitBasicBlock(at);
      if (!branch) before = now;
      at = next;
    }
  }
}

OutlinedRegions outline_regions(const Thread& thread, const Divergence& divergence, unsigned lanes,
                                unsigned most_leaves, bool some) {
  Finder finder(thread, divergence, lanes, most_leaves);
  std::vector<Region> regions = finder.run();
  OutlinedRegions parts;
  llvm::SmallVector<llvm::Value*> calls;
  for (Region& region : regions) parts.push_back(Taker(thread, divergence, finder, region, some, calls).run());
  return parts;
}

}  // namespace anymps::metal::lower::vectorize
