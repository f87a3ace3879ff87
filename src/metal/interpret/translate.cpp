#include "metal/interpret/translate.h"

#include <llvm/IR/CFG.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

#include <optional>
#include <unordered_map>

#include "metal/interpret/functions.h"
#include "metal/interpret/instructions.h"
#include "metal/interpret/machine.h"
#include "metal/interpret/order.h"

namespace anymps::metal::interpret {
namespace {

constexpr unsigned kOwnAlignment = 16;  // of a lane's own memory, and of registers

std::size_t aligned(std::size_t bytes) { return (bytes + kOwnAlignment - 1) / kOwnAlignment * kOwnAlignment; }

class FunctionTranslator {
 public:
  FunctionTranslator(Translator& translator, ModuleMemory& memory, const llvm::Function& function, Function& made)
      : translator_(translator), memory_(memory), function_(function), made_(made) {}

  void run() {
    made_.name = function_.getName().str();
    for (const llvm::Argument& argument : function_.args()) made_.parameters.push_back(place(argument));
    unsigned count = 0;
    for (const llvm::BasicBlock& block : function_) {
      numbers_[&block] = count++;
      for (const llvm::Instruction& instruction : block) {
        if (!instruction.getType()->isVoidTy()) place(instruction);
      }
    }
    order();
    OwnMemory own{.used = 0, .own_bytes = &made_.own_bytes};
    for (const llvm::BasicBlock& block : function_) {
      Block& made = made_.blocks.emplace_back();
      if (leads_[numbers_.at(&block)].empty() && !llvm::isa<llvm::ReturnInst>(block.getTerminator()) &&
          !llvm::isa<llvm::UnreachableInst>(block.getTerminator())) {
        continue;  // nothing leads here
      }
      for (const llvm::Instruction& instruction : block) {
        if (llvm::isa<llvm::PHINode>(instruction)) continue;
        if (instruction.isTerminator()) {
          end(made, instruction, numbers_.at(&block));
        } else {
          made.actions.push_back(action(instruction, own));
        }
      }
    }
    made_.own_bytes = aligned(own.used);
  }

 private:
  const Operand& place(const llvm::Value& value) {
    Operand operand{.shape = memory_.shape_of(value.getType())};
    operand.offset = static_cast<std::uint32_t>(made_.register_bytes);
    made_.register_bytes = aligned(made_.register_bytes + kLanes * operand.shape.bytes());
    return places_[&value] = operand;
  }

  Operand operand(const llvm::Value& value) {
    if (const auto* constant = llvm::dyn_cast<llvm::Constant>(&value)) {
      return {.shape = memory_.shape_of(value.getType()), .constant = memory_.cell_of(*constant)};
    }
    return places_.at(&value);
  }

  void order() {
    std::vector<std::vector<unsigned>> successors(numbers_.size());
    for (const llvm::BasicBlock& block : function_) {
      for (const llvm::BasicBlock* next : llvm::successors(&block)) {
        successors[numbers_.at(&block)].push_back(numbers_.at(next));
      }
    }
    auto found = order_blocks(successors);
    if (!found) memory_.refuse(made_.name + " has a loop with two ways in");
    made_.block_at = std::move(found->block_at);
    leads_ = std::move(found->edge_leads);
  }

  Action action(const llvm::Instruction& instruction, OwnMemory& own) {
    Action action;
    if (!instruction.getType()->isVoidTy()) action.result = places_.at(&instruction);
    std::vector<Operand> from;
    if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
      const llvm::Function* callee = call->getCalledFunction();
      if (callee == nullptr) memory_.refuse("a call through a pointer is not known here");
      // Metadata is no value.
      const std::string_view name = callee->getName();
      if (name.starts_with("llvm.dbg.") || name.starts_with("llvm.experimental.noalias.scope")) {
        action.step = [](const Lanes&) {};
        return action;
      }
      for (const llvm::Value* argument : call->args()) from.push_back(operand(*argument));
      called(action, *callee, from);
      return action;
    }
    if (const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) {
      action.step = variable_step(*variable, count_of(*variable), action.result, memory_, own);
      return action;
    }
    for (const llvm::Value* value : instruction.operand_values()) from.push_back(operand(*value));
    action.step = instruction_step(instruction, action.result, from, memory_);
    if (!action.step)
      memory_.refuse(std::string("it has ") + instruction.getOpcodeName() + ", which is not known here");
    return action;
  }

  // Of tensors, functions say how many bytes they take: these are run at once.
  std::size_t count_of(const llvm::AllocaInst& variable) {
    constexpr std::uint64_t kMost = 64 << 10;
    std::optional<std::uint64_t> count;
    if (const auto* number = llvm::dyn_cast<llvm::ConstantInt>(variable.getArraySize())) count = number->getZExtValue();
    const auto* call = llvm::dyn_cast<llvm::CallInst>(variable.getArraySize());
    if (call != nullptr && call->arg_empty() && call->getCalledFunction() != nullptr &&
        !call->getCalledFunction()->isDeclaration()) {
      count = translator_.result_of(*call->getCalledFunction());
    }
    if (!count || *count > kMost) memory_.refuse("it has a variable of a size that is not known here");
    return *count;
  }

  void called(Action& action, const llvm::Function& callee, const std::vector<Operand>& from) {
    if (!callee.isDeclaration()) {
      action.kind = Action::Kind::kCall;
      action.callee = &translator_.function(callee);
      for (std::size_t i = 0; i < from.size(); ++i) action.arguments.push_back({action.callee->parameters[i], from[i]});
      return;
    }
    const std::string_view name = callee.getName();
    if (name == "air.wg.barrier") {
      action.kind = Action::Kind::kThreadgroupBarrier;
      return;
    }
    const DeclaredName declared(name);
    for (const auto family : {conversion_step, simdgroup_step, matrix_step}) {
      if (!action.step) action.step = family(declared, action.result, from);
    }
    if (!action.step) action.step = tensor_step(name, action.result, from);
    if (!action.step) action.step = memory_step(name, action.result, from);
    if (!action.step && !from.empty()) action.step = math_step(name, action.result, from);
    if (!action.step) memory_.refuse("it calls " + std::string(name) + ", which is not known here");
  }

  void end(Block& made, const llvm::Instruction& terminator, unsigned number) {
    using I = llvm::Instruction;
    const llvm::BasicBlock* block = terminator.getParent();
    switch (terminator.getOpcode()) {
      case I::Ret:
        made.end = Block::End::kReturn;
        if (terminator.getNumOperands() != 0) made.value = operand(*terminator.getOperand(0));
        return;
      case I::Unreachable:
        made.end = Block::End::kUnreachable;
        return;
      case I::Br: {
        const auto& branch = llvm::cast<llvm::BranchInst>(terminator);
        for (unsigned i = 0; i < branch.getNumSuccessors(); ++i) {
          made.edges.push_back(edge(block, branch.getSuccessor(i), leads_[number][i]));
        }
        if (branch.isConditional()) {
          made.value = operand(*branch.getCondition());
          made.cases = {1};
        }
        return;
      }
      case I::Switch: {
        const auto& choice = llvm::cast<llvm::SwitchInst>(terminator);
        made.value = operand(*choice.getCondition());
        for (const auto& one : choice.cases()) {
          made.cases.push_back(one.getCaseValue()->getZExtValue());
          made.edges.push_back(edge(block, one.getCaseSuccessor(), leads_[number][one.getSuccessorIndex()]));
        }
        made.edges.push_back(edge(block, choice.getDefaultDest(), leads_[number][0]));
        return;
      }
      default:
        memory_.refuse(std::string("it has ") + terminator.getOpcodeName() + ", which is not known here");
    }
  }

  Edge edge(const llvm::BasicBlock* from, const llvm::BasicBlock* to, unsigned position) {
    Edge edge{.position = position, .phis = {}};
    for (const llvm::PHINode& phi : to->phis()) {
      edge.phis.push_back({places_.at(&phi), operand(*phi.getIncomingValueForBlock(from))});
    }
    return edge;
  }

  Translator& translator_;
  ModuleMemory& memory_;
  const llvm::Function& function_;
  Function& made_;
  std::unordered_map<const llvm::Value*, Operand> places_;
  std::unordered_map<const llvm::BasicBlock*, unsigned> numbers_;
  std::vector<std::vector<unsigned>> leads_;
};

}  // namespace

const Function& Translator::function(const llvm::Function& function) {
  Function*& made = made_[&function];
  if (made == nullptr) {
    made = &functions_.emplace_back();
    // Metal has no recursion: nobody sees it half made.
    FunctionTranslator(*this, memory_, function, *made).run();
  }
  return *made;
}

std::uint64_t Translator::result_of(const llvm::Function& callee) {
  Function caller;
  Action call;
  call.kind = Action::Kind::kCall;
  call.callee = &function(callee);
  call.result = {.shape = memory_.shape_of(callee.getReturnType())};
  caller.name = callee.getName().str();
  caller.register_bytes = call.result.shape.bytes() * kLanes;
  caller.block_at = {0};
  const Operand result = call.result;
  caller.blocks.emplace_back().actions.push_back(std::move(call));
  caller.blocks.back().end = Block::End::kReturn;
  std::vector<Simdgroup> alone(1);
  alone[0].begin(caller, bit_of(0));
  const Lanes lanes = alone[0].arguments();
  run_threadgroup(caller.name, alone);
  return lanes.bits(result, 0);
}

}  // namespace anymps::metal::interpret
