// Writes a thread's code as code for many lanes at once. A value that lanes share stays one value; another becomes a
// vector with an element for each lane, or several where a thread has a vector or a structure of its own. Values go
// from block to block through variables, of which LLVM makes registers again: the blocks' order changes here.
//
// One class over several files: values.cpp (values), linearize_control.cpp (blocks and masks), instructions.cpp,
// memory.cpp, cross_lane.cpp (what lanes do together), matrices.cpp, uniform_conditions.cpp (what lanes agree on).
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>

#include <functional>
#include <set>
#include <vector>

#include "metal/lower/vectorize/divergence_analysis.h"
#include "metal/lower/vectorize/outline_regions.h"

namespace anymps::metal::lower::vectorize {

// The parts of a thread's value: <4 x float> has four.
struct Leaf {
  llvm::Type* type;
  std::uint64_t offset;
};
using Leaves = llvm::SmallVector<Leaf, 4>;
Leaves leaves_of(llvm::Type* type, const llvm::DataLayout& layout);

// A vector for each leaf.
using Vectors = llvm::SmallVector<llvm::Value*, 4>;

// What the CPU has instructions for, of accesses in which not every lane takes part, or lanes go to different places.
struct Abilities {
  bool masked_words = false;  // 32 and 64 bits
  bool masked_bytes = false;  // 8 and 16 bits too
  bool gather = false;        // 32 and 64 bits
  bool scatter = false;
  bool bit_masks = false;  // comparisons give a bit a lane; elsewhere a word of ones or zeros
};

// What the writer does not know how to do.
struct Surroundings {
  // A block that runs these threads one by one, from their beginning; asked for if Divergence knows of guards.
  std::function<llvm::BasicBlock*()> one_by_one;
  // A thread waits for its threadgroup; leaves the builder where it goes on.
  std::function<void(llvm::IRBuilder<>& builder)> barrier;
  // Lets the threadgroup's other simdgroups come as far as this one.
  std::function<void(llvm::IRBuilder<>& builder)> turn;
  // What is called here for fewer lanes at a time.
  const OutlinedRegions* parts = nullptr;
  // A thread has ended.
  std::function<void(llvm::IRBuilder<>& builder)> end;
};

class Writer {
 public:
  // `arguments` stand for those of the thread, its lane excepted. `active`: the lanes that are there at all; null for
  // all.
  Writer(const Thread& thread, const Divergence& divergence, const Abilities& abilities,
         const Surroundings& surroundings, llvm::Function& into, llvm::ArrayRef<llvm::Value*> arguments,
         llvm::Value* active);

  // Goes on behind `block`, which has no terminator. Variables go to the beginning of the first block of the function.
  void write(llvm::BasicBlock* block);

 private:
  // -- values
  llvm::FixedVectorType* lanes_of(llvm::Type* type) const { return llvm::FixedVectorType::get(type, lanes_); }
  llvm::Type* mask_type() const { return lanes_of(llvm::Type::getInt1Ty(context_)); }
  // What lies in a variable, from block to block: truths as the CPU has them.
  llvm::Type* kept_type(llvm::Type* type) const;
  void keep(llvm::Value* value, llvm::AllocaInst* place);
  llvm::Value* kept(llvm::Type* type, llvm::AllocaInst* place);
  llvm::Constant* counted(llvm::Type* type, std::int64_t step = 1) const;  // 0, step, 2 * step, ...
  llvm::Constant* whole_mask() const { return llvm::Constant::getAllOnesValue(mask_type()); }
  llvm::AllocaInst* variable(llvm::Type* type);
  // The value that all lanes have, or that of lane 0 where it is affine.
  llvm::Value* scalar(const llvm::Value* value);
  Vectors vectors(const llvm::Value* value);
  llvm::Value* vector(const llvm::Value* value);
  Vectors affine_vectors(const llvm::Value* value);
  llvm::Value* step_of(const llvm::Value* value, llvm::Type* type);
  void define(const llvm::Instruction& instruction, llvm::Value* scalar);
  void define(const llvm::Instruction& instruction, const Vectors& vectors);
  void split(llvm::Value* value, Vectors& out);
  bool leaves_its_block(const llvm::Instruction& instruction) const;
  llvm::Value* any(llvm::Value* mask) { return b_.CreateOrReduce(mask); }
  llvm::Value* bits(llvm::Value* mask) { return b_.CreateBitCast(mask, b_.getIntNTy(lanes_)); }
  llvm::Value* mask_or_whole() { return mask_ != nullptr ? mask_ : whole_mask(); }
  llvm::BasicBlock* block(const llvm::Twine& name) { return llvm::BasicBlock::Create(context_, name, &into_); }

  // Calls `body` in a loop for each lane of the mask with that lane's elements; a result becomes a vector.
  using LaneBody = llvm::function_ref<llvm::Value*(llvm::ArrayRef<llvm::Value*> elements)>;
  llvm::Value* lane_by_lane(llvm::Type* result, llvm::ArrayRef<llvm::Value*> inputs, LaneBody body);

  // -- blocks and masks
  struct Node {
    llvm::BasicBlock* original = nullptr;  // null for the end of a loop that lanes leave apart
    llvm::Loop* loop = nullptr;            // the node is this whole inner loop
    llvm::BasicBlock* entry = nullptr;
    std::set<unsigned> pending;  // nodes behind this one in which lanes may wait
  };
  struct Level {
    llvm::Loop* loop = nullptr;
    Level* outer = nullptr;
    unsigned in_outer = 0;
    llvm::BasicBlock* header = nullptr;
    std::vector<Node> nodes;
    llvm::DenseMap<const llvm::BasicBlock*, unsigned> node_of;
  };
  void write_level(llvm::Loop* loop, Level* outer, unsigned in_outer, llvm::BasicBlock* header);
  void order_level(Level& level);
  void write_node(Level& level, unsigned index);
  void write_loop_end(Level& level);
  void write_phis(const llvm::BasicBlock& original);
  void write_terminator(Level& level, Node& node);
  void write_branch_apart(Level& level, Node& node, const llvm::BranchInst& branch);
  void write_guard(Level& level, Node& node, const llvm::BranchInst& branch);
  void write_sides(Level& level, Node& node, const llvm::BranchInst& branch, llvm::ArrayRef<llvm::BasicBlock*> sides);
  void write_edge(const llvm::BasicBlock* from, const llvm::BasicBlock* to, llvm::Value* mask);
  llvm::BasicBlock* route(Level& level, std::set<unsigned> pending, llvm::ArrayRef<const llvm::BasicBlock*> targets);
  static llvm::BasicBlock* go(Level& level, std::set<unsigned> pending);
  bool worth_skipping(const llvm::BasicBlock& original) const;
  llvm::AllocaInst* mask_variable(llvm::DenseMap<const llvm::BasicBlock*, llvm::AllocaInst*>& variables,
                                  const llvm::BasicBlock* original);
  llvm::SmallVector<llvm::AllocaInst*, 4>& phi_variables(const llvm::PHINode& phi);
  llvm::AllocaInst* phi_variable(const llvm::PHINode& phi);
  void forget_at_headers();

  // -- instructions
  void write_instruction(const llvm::Instruction& instruction);
  void write_check(const llvm::Instruction& widening);
  llvm::Value* clone_scalar(const llvm::Instruction& instruction);
  Vectors compute(const llvm::Instruction& instruction);
  Vectors compute_elementwise(const llvm::Instruction& instruction);
  Vectors compute_bitcast(const llvm::Instruction& instruction);
  Vectors compute_select(const llvm::SelectInst& select);
  Vectors compute_extract(const llvm::ExtractElementInst& extract);
  Vectors compute_insert(const llvm::InsertElementInst& insert);
  Vectors compute_member(const llvm::Instruction& instruction);
  Vectors compute_call(const llvm::CallInst& call);
  llvm::Value* divide(const llvm::BinaryOperator& division, llvm::Value* left, llvm::Value* right);
  void serialise(const llvm::Instruction& instruction);
  void write_part(const llvm::CallInst& call, const OutlinedRegion& part);

  // -- memory
  void write_access(const llvm::Instruction& access);
  struct Access;
  bool is_own(const llvm::Value* pointer) const;
  bool native_mask(llvm::Type* type) const;
  bool native_apart(const Access& access) const;
  bool may_be_together(const Access& access, const llvm::Value* pointer, llvm::Value*& if_so);
  Vectors access_by_all(const Access& access, const llvm::Value* pointer);
  Vectors access_by_some(Access& access, const llvm::Value* pointer);
  Vectors access_around(Access access, const llvm::Value* pointer);
  llvm::Value* reaches_nothing_else(const Access& access, const llvm::Value* pointer);
  Vectors access_together(const Access& access, const llvm::Value* pointer, llvm::Value* mask);
  Vectors access_apart(const Access& access, const llvm::Value* pointer, llvm::Value* mask);
  Vectors access_in_turn(const Access& access, const llvm::Value* pointer);
  Vectors all_parts(const Access& access, llvm::ArrayRef<llvm::Value*> places);
  Vectors access_with_step(const Access& access, const llvm::Value* pointer);
  Vectors either(llvm::Value* condition, llvm::function_ref<Vectors()> likely, llvm::function_ref<Vectors()> otherwise);
  llvm::Value* holds(const llvm::Value* pointer);
  void store_by_last_lane(const Access& access, const llvm::Value* pointer);
  void keep_metadata(llvm::Value* written, const llvm::Instruction& original);

  // -- what lanes do together
  bool write_cooperative_op(const llvm::CallInst& call);
  llvm::Value* combined(llvm::StringRef operation, bool is_signed, llvm::Value* left, llvm::Value* right);
  llvm::Constant* neutral(llvm::StringRef operation, bool is_signed, llvm::Type* type);
  llvm::Value* fold(llvm::StringRef operation, bool is_signed, llvm::Value* vector, unsigned width);
  llvm::Value* scan(llvm::StringRef operation, bool is_signed, llvm::Value* vector, unsigned width, bool exclusive);
  llvm::Value* permuted(llvm::Value* vector, llvm::Value* from);
  Vectors shuffled(llvm::StringRef operation, const llvm::CallInst& call);
  llvm::Value* surely(const llvm::Value* condition, bool truth);
  llvm::Value* surely_compares(const llvm::ICmpInst& compare, bool truth);
  bool write_vote(llvm::StringRef operation, const llvm::CallInst& call);
  bool write_matrix(llvm::StringRef operation, const llvm::CallInst& call);
  Vectors matrix_transfer(const llvm::CallInst& call, bool store);

  const Thread& thread_;
  const Divergence& divergence_;
  const Abilities abilities_;
  const Surroundings& surroundings_;
  llvm::Function& into_;
  llvm::Value* const active_;
  const unsigned lanes_;
  const llvm::DataLayout& layout_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> b_;

  llvm::Value* mask_ = nullptr;  // of the block being written; null for all lanes
  llvm::DenseMap<const llvm::Value*, llvm::Value*> arguments_;
  llvm::DenseMap<const llvm::Value*, llvm::Value*> shared_;  // the thread's variables
  // Of the block being written.
  llvm::DenseMap<const llvm::Value*, llvm::Value*> scalars_;
  llvm::DenseMap<const llvm::Value*, Vectors> vectors_;
  llvm::DenseMap<const llvm::Instruction*, llvm::Value*> asked_;
  // From block to block.
  llvm::DenseMap<const llvm::Value*, llvm::AllocaInst*> scalar_variables_;
  llvm::DenseMap<const llvm::Value*, llvm::SmallVector<llvm::AllocaInst*, 4>> vector_variables_;
  llvm::DenseMap<const llvm::Instruction*, llvm::AllocaInst*> asked_variables_;
  llvm::DenseMap<const llvm::PHINode*, llvm::AllocaInst*> phi_scalars_;
  llvm::DenseMap<const llvm::PHINode*, llvm::SmallVector<llvm::AllocaInst*, 4>> phi_vectors_;
  llvm::DenseMap<const llvm::BasicBlock*, llvm::AllocaInst*> arriving_;  // lanes that have come to a block
  llvm::DenseMap<const llvm::BasicBlock*, llvm::AllocaInst*> running_;   // lanes that ran it
  std::vector<std::pair<const llvm::Loop*, llvm::BasicBlock*>> headers_;
  llvm::SmallPtrSet<const llvm::Value*, 16> wanted_;  // in other blocks, beside those of their users
};

}  // namespace anymps::metal::lower::vectorize
