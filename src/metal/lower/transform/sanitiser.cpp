#include "metal/lower/transform/sanitiser.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/CFG.h>
#include <llvm/Analysis/Utils/Local.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <map>
#include <optional>

#include "metal/air/signature.h"
#include "metal/lower/transform/memory_origins.h"
#include "metal/lower/transform/normalise_attributes.h"

namespace anymps::metal::lower::transform {
namespace {

using Kind = ValidationSite::Kind;

bool is_shared_space(unsigned space) {
  return space == air::kDeviceSpace || space == air::kConstantSpace || space == air::kThreadgroupSpace;
}

// What an address is computed from.
struct Origin {
  llvm::SetVector<std::uint32_t> objects;
  bool global = false;   // a table of the module's own
  bool unknown = false;  // read from memory, or more than is followed here
};

class Inserter {
 public:
  Inserter(const workgroup::ThreadCoroutine& thread, std::span<const support::Parameter> parameters,
           std::span<const ThreadgroupVariable> variables, ValidationTable& table)
      : thread_(thread),
        parameters_(parameters),
        variables_(variables),
        table_(table),
        b_(thread.function->getContext()) {
    llvm::Module& module = *thread.function->getParent();
    llvm::Type* number = b_.getInt32Ty();
    access_hook_ =
        module.getOrInsertFunction(kAccessHook, b_.getPtrTy(), b_.getPtrTy(), b_.getInt64Ty(), number, number);
    outside_hook_ =
        module.getOrInsertFunction(kOutsideHook, b_.getPtrTy(), b_.getInt64Ty(), b_.getInt64Ty(), number, number);
    loop_hook_ = module.getOrInsertFunction(kLoopHook, b_.getInt1Ty(), number, number);
    fence_hook_ = module.getOrInsertFunction(kFenceHook, b_.getVoidTy());
  }

  void run() {
    for (const std::string& place : thread_.places)
      add_site({.kind = Kind::kCooperative, .objects = {}, .place = place});
    // What was known of the arguments is no longer true of the addresses that the sanitiser gives.
    const llvm::AttributeList attributes = thread_.function->getAttributes();
    thread_.function->setAttributes(
        llvm::AttributeList::get(b_.getContext(), attributes.getFnAttrs(), attributes.getRetAttrs(), {}));
    llvm::SmallVector<llvm::Instruction*> instructions;
    for (llvm::Instruction& instruction : llvm::instructions(*thread_.function)) instructions.push_back(&instruction);
    for (llvm::Instruction* instruction : instructions) visit(*instruction);
    guard_loops();
  }

 private:
  std::uint32_t add_site(ValidationSite site) {
    table_.sites.push_back(std::move(site));
    return static_cast<std::uint32_t>(table_.sites.size() - 1);
  }

  void visit(llvm::Instruction& instruction) {
    // What is misaligned is reported and, unless it is atomic, done all the same.
    const llvm::Align any(1);
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
      const Kind kind = load->isAtomic() ? Kind::kAtomicLoad : Kind::kLoad;
      const bool checked = check(*load, load->getOperandUse(0), kind, load->getType(), load->getAlign());
      if (checked && kind == Kind::kLoad) load->setAlignment(any);
    } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
      const Kind kind = store->isAtomic() ? Kind::kAtomicStore : Kind::kStore;
      llvm::Type* type = store->getValueOperand()->getType();
      const bool checked = check(*store, store->getOperandUse(1), kind, type, store->getAlign());
      if (checked && kind == Kind::kStore) store->setAlignment(any);
    } else if (auto* rmw = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
      check(*rmw, rmw->getOperandUse(0), Kind::kAtomic, rmw->getType(), rmw->getAlign());
    } else if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
      check(*exchange, exchange->getOperandUse(0), Kind::kAtomic, exchange->getNewValOperand()->getType(),
            exchange->getAlign());
    } else if (llvm::isa<llvm::FenceInst>(instruction)) {
      b_.SetInsertPoint(instruction.getNextNode());
      b_.CreateCall(fence_hook_);
    } else if (auto* memory = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction)) {
      check(*memory, memory->getArgOperandUse(0), Kind::kStore, memory->getLength(), memory->getDestAlign(),
            memory->getDestAlign());
      memory->setDestAlignment(any);
      if (auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(memory)) {
        check(*copy, copy->getArgOperandUse(1), Kind::kLoad, copy->getLength(), copy->getSourceAlign(),
              copy->getSourceAlign());
        copy->setSourceAlignment(any);
      }
    }
  }

  bool check(llvm::Instruction& at, llvm::Use& address, Kind kind, llvm::Type* type, llvm::Align alignment) {
    const llvm::DataLayout& layout = thread_.function->getParent()->getDataLayout();
    return check(at, address, kind, b_.getInt64(layout.getTypeStoreSize(type)), alignment,
                 std::min(alignment, layout.getABITypeAlign(type->getScalarType())));
  }

  // False for memory that is not watched.
  bool check(llvm::Instruction& at, llvm::Use& address, Kind kind, llvm::Value* bytes, llvm::MaybeAlign alignment,
             llvm::MaybeAlign element) {
    const unsigned space = address->getType()->getPointerAddressSpace();
    if (!is_shared_space(space)) return check_own(at, address, kind, bytes);
    const Origin origin = origin_of(address);
    if (origin.global && origin.objects.empty()) return check_own(at, address, kind, bytes);
    const std::uint32_t site = add_site({.kind = kind,
                                         .threadgroup = space == air::kThreadgroupSpace,
                                         .alignment = static_cast<std::uint32_t>(alignment.valueOrOne().value()),
                                         .element = static_cast<std::uint32_t>(element.valueOrOne().value()),
                                         .objects = {},
                                         .place = workgroup::place_of(at)});
    if (!origin.unknown && !origin.global) {
      table_.sites[site].objects.assign(origin.objects.begin(), origin.objects.end());
    }
    b_.SetInsertPoint(&at);
    llvm::Value* checked =
        b_.CreateCall(access_hook_, {b_.CreateAddrSpaceCast(address, b_.getPtrTy()),
                                     b_.CreateZExtOrTrunc(bytes, b_.getInt64Ty()), b_.getInt32(site), thread_.index});
    address.set(b_.CreateAddrSpaceCast(checked, address->getType()));
    return true;
  }

  // Of a variable of the thread or a table of the module. The offset is computed beside the address, so that the
  // variable can still become a register where loops are unrolled.
  bool check_own(llvm::Instruction& at, llvm::Use& address, Kind kind, llvm::Value* bytes) {
    const llvm::DataLayout& layout = thread_.function->getParent()->getDataLayout();
    llvm::SmallVector<llvm::GEPOperator*> steps;
    llvm::Value* base = address;
    while (auto* step = llvm::dyn_cast<llvm::GEPOperator>(base)) {
      if (step->getType()->isVectorTy()) return false;
      steps.push_back(step);
      base = step->getPointerOperand();
    }
    const std::optional<std::uint64_t> size = size_of(*base, layout);
    if (steps.empty() || !size) return false;
    b_.SetInsertPoint(&at);
    llvm::Value* offset = b_.getInt64(0);
    for (llvm::GEPOperator* step : steps) {
      llvm::Value* distance = llvm::emitGEPOffset(&b_, layout, step, /*NoAssumptions=*/true);
      offset = b_.CreateAdd(offset, b_.CreateSExtOrTrunc(distance, b_.getInt64Ty()));
    }
    bytes = b_.CreateZExtOrTrunc(bytes, b_.getInt64Ty());
    llvm::Value* outside = b_.CreateOr(b_.CreateICmpUGT(bytes, b_.getInt64(*size)),
                                       b_.CreateICmpUGT(offset, b_.CreateSub(b_.getInt64(*size), bytes)));
    if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(outside); known != nullptr && known->isZero()) {
      return false;
    }
    const auto [object, fresh] = own_.try_emplace(base, static_cast<std::uint32_t>(table_.objects.size()));
    if (fresh) {
      llvm::StringRef name = base->getName();
      name.consume_front(llvm::StringRef(kOwnPrefix));
      table_.objects.push_back(
          {.kind = ValidationObject::Kind::kOwn, .name = name.split('.').first.str(), .size = *size});
    }
    const std::uint32_t site = add_site({.kind = kind, .objects = {object->second}, .place = workgroup::place_of(at)});
    llvm::BasicBlock* before = at.getParent();
    llvm::Instruction* leaves = llvm::SplitBlockAndInsertIfThen(outside, &at, /*Unreachable=*/false);
    b_.SetInsertPoint(leaves);
    llvm::Value* instead = b_.CreateAddrSpaceCast(
        b_.CreateCall(outside_hook_, {offset, bytes, b_.getInt32(site), thread_.index}), address->getType());
    b_.SetInsertPoint(&at);
    llvm::PHINode* where = b_.CreatePHI(address->getType(), 2);
    where->addIncoming(address, before);
    where->addIncoming(instead, leaves->getParent());
    address.set(where);
    return true;
  }

  static std::optional<std::uint64_t> size_of(const llvm::Value& variable, const llvm::DataLayout& layout) {
    if (const auto* own = llvm::dyn_cast<llvm::AllocaInst>(&variable)) {
      const auto size = own->getAllocationSize(layout);
      if (size && !size->isScalable()) return size->getFixedValue();
    } else if (const auto* table = llvm::dyn_cast<llvm::GlobalVariable>(&variable)) {
      if (table->hasInitializer()) return layout.getTypeAllocSize(table->getValueType()).getFixedValue();
    }
    return std::nullopt;
  }

  Origin origin_of(llvm::Value* address) {
    const MemoryOrigins memory = memory_origins_of(address);
    Origin origin;
    origin.global = memory.global;
    origin.unknown = memory.unknown;
    for (const llvm::Argument* argument : memory.arguments) add_argument(*argument, origin);
    for (const unsigned variable : memory.variables) origin.objects.insert(object_of_variable(variable));
    return origin;
  }

  void add_argument(const llvm::Argument& argument, Origin& origin) {
    const unsigned number = argument.getArgNo();
    if (number >= parameters_.size()) {
      origin.unknown = true;
      return;
    }
    const bool threadgroup = parameters_[number].role == support::Role::kThreadgroupBuffer;
    const ValidationObject object = {
        .kind = threadgroup ? ValidationObject::Kind::kThreadgroupBuffer : ValidationObject::Kind::kBuffer,
        .name = {},
        .parameter = number};
    origin.objects.insert(remember(arguments_, number, object));
  }

  std::uint32_t object_of_variable(unsigned number) {
    const ThreadgroupVariable& variable = variables_[number];
    return remember(placed_, number,
                    {.kind = ValidationObject::Kind::kThreadgroupVariable,
                     .name = variable.name,
                     .offset = variable.offset,
                     .size = variable.size});
  }

  std::uint32_t remember(std::map<unsigned, std::uint32_t>& known, unsigned number, const ValidationObject& object) {
    const auto [found, fresh] = known.try_emplace(number, static_cast<std::uint32_t>(table_.objects.size()));
    if (fresh) table_.objects.push_back(object);
    return found->second;
  }

  void guard_loops() {
    using Edge = std::pair<const llvm::BasicBlock*, const llvm::BasicBlock*>;
    llvm::SmallVector<Edge> edges;
    llvm::FindFunctionBackedges(*thread_.function, edges);
    const llvm::SetVector<Edge> once(edges.begin(), edges.end());
    for (const auto& [from, to] : once) {
      guard_edge(const_cast<llvm::BasicBlock*>(from), const_cast<llvm::BasicBlock*>(to));
    }
  }

  void guard_edge(llvm::BasicBlock* from, llvm::BasicBlock* to) {
    auto* guard = llvm::BasicBlock::Create(b_.getContext(), "round", thread_.function, to);
    llvm::Instruction* last = from->getTerminator();
    last->replaceSuccessorWith(to, guard);
    for (llvm::PHINode& phi : to->phis()) {
      phi.setIncomingBlock(static_cast<unsigned>(phi.getBasicBlockIndex(from)), guard);
      for (int more; (more = phi.getBasicBlockIndex(from)) >= 0;) {
        phi.removeIncomingValue(static_cast<unsigned>(more), /*DeletePHIIfEmpty=*/false);
      }
    }
    const std::uint32_t site = add_site({.kind = Kind::kLoop, .objects = {}, .place = workgroup::place_of(*last)});
    b_.SetInsertPoint(guard);
    b_.CreateCondBr(b_.CreateCall(loop_hook_, {b_.getInt32(site), thread_.index}), thread_.finished, to);
  }

  const workgroup::ThreadCoroutine& thread_;
  std::span<const support::Parameter> parameters_;
  std::span<const ThreadgroupVariable> variables_;
  ValidationTable& table_;
  llvm::IRBuilder<> b_;
  llvm::FunctionCallee access_hook_;
  llvm::FunctionCallee outside_hook_;
  llvm::FunctionCallee loop_hook_;
  llvm::FunctionCallee fence_hook_;
  std::map<unsigned, std::uint32_t> arguments_;
  std::map<unsigned, std::uint32_t> placed_;
  std::map<const llvm::Value*, std::uint32_t> own_;
};

}  // namespace

void insert_validation(const workgroup::ThreadCoroutine& thread, std::span<const support::Parameter> parameters,
                       std::span<const ThreadgroupVariable> variables, ValidationTable& table) {
  Inserter(thread, parameters, variables, table).run();
}

}  // namespace anymps::metal::lower::transform
