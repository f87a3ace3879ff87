// Threads that do nothing together run one after the other, in a loop that LLVM may vectorise: their accesses are
// marked as independent, which they are on the GPU.
#include "metal/lower/workgroup/work_item_loop.h"

#include <llvm/IR/InstIterator.h>

#include "metal/lower/builtins/builtin_lowering.h"
#include "metal/lower/support/kernel_parameter.h"
#include "metal/lower/workgroup/cooperative_ops.h"
#include "metal/lower/workgroup/workgroup_frame.h"

namespace anymps::metal::lower::workgroup {
namespace {

llvm::MDNode* mark_independent(llvm::Function& kernel) {
  llvm::LLVMContext& context = kernel.getContext();
  llvm::MDNode* group = llvm::MDNode::getDistinct(context, {});
  for (llvm::Instruction& instruction : llvm::instructions(kernel)) {
    const llvm::Value* pointer = llvm::getLoadStorePointerOperand(&instruction);
    // A thread's own variables, in space 0, are the same memory for every thread of the loop.
    if (pointer == nullptr || pointer->getType()->getPointerAddressSpace() == 0 || instruction.isAtomic()) continue;
    instruction.setMetadata(llvm::LLVMContext::MD_access_group, group);
  }
  llvm::MDNode* accesses =
      llvm::MDNode::get(context, {llvm::MDString::get(context, "llvm.loop.parallel_accesses"), group});
  llvm::MDNode* loop = llvm::MDNode::getDistinct(context, {nullptr, accesses});
  loop->replaceOperandWith(0, loop);
  return loop;
}

}  // namespace

void mark_invariant_loads(llvm::Function& kernel, std::span<const support::Parameter> parameters) {
  llvm::SmallVector<llvm::Value*> work;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].unchanging) work.push_back(kernel.getArg(static_cast<unsigned>(i)));
  }
  while (!work.empty()) {
    for (llvm::User* user : work.pop_back_val()->users()) {
      if (llvm::isa<llvm::GetElementPtrInst>(user)) work.push_back(user);
      if (auto* load = llvm::dyn_cast<llvm::LoadInst>(user)) {
        load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(kernel.getContext(), {}));
      }
    }
  }
}

void make_work_item_loop(llvm::Module& module, llvm::Function* kernel, std::span<const support::Parameter> parameters) {
  constexpr unsigned kMemory = 5;
  mark_invariant_loads(*kernel, parameters);
  llvm::MDNode* parallel = mark_independent(*kernel);
  WorkgroupBuilder threads(module, parameters, {llvm::PointerType::get(module.getContext(), 0)}, kMemory);
  threads.loops([&](const Three& position) { threads.b().CreateCall(kernel, threads.arguments(kernel, position)); },
                parallel);
  kernel->setLinkage(llvm::GlobalValue::InternalLinkage);
  kernel->removeFnAttr(llvm::Attribute::NoInline);
  kernel->addFnAttr(llvm::Attribute::AlwaysInline);
}

}  // namespace anymps::metal::lower::workgroup
