#include "metal/lower/transform/threadgroup_variables.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/ReplaceConstant.h>

#include <algorithm>

#include "gpu/support/round_up.h"
#include "metal/air/signature.h"
#include "metal/lower/support/wider_function.h"
#include "metal/lower/transform/normalise_attributes.h"

namespace anymps::metal::lower::transform {
namespace {

constexpr std::size_t kLeastAlignment = 16;
constexpr std::size_t kLine = 64;

llvm::MDNode* mark_of(llvm::IRBuilder<>& b, std::size_t number) {
  return llvm::MDNode::get(b.getContext(), llvm::ConstantAsMetadata::get(b.getInt32(static_cast<unsigned>(number))));
}

}  // namespace

// LLVM's demangler does not know all of Metal's types.
std::string plain_name(const llvm::GlobalVariable& variable) {
  llvm::StringRef mangled = variable.getName();
  mangled.consume_front(llvm::StringRef(kOwnPrefix));
  for (std::size_t i = 0; mangled.starts_with("_Z") && i < mangled.size(); ++i) {
    llvm::StringRef rest = mangled.drop_front(i);
    std::size_t length = 0;
    if (!rest.consumeInteger(10, length) && length != 0 && length == rest.size()) return rest.str();
  }
  return mangled.str();
}

llvm::Function* place_threadgroup_variables(llvm::Module& module, llvm::Function* kernel, ThreadgroupLayout& layout,
                                            std::vector<ThreadgroupVariable>& placed) {
  llvm::SmallVector<llvm::GlobalVariable*> variables;
  for (llvm::GlobalVariable& global : module.globals()) {
    if (global.getAddressSpace() == air::kThreadgroupSpace) variables.push_back(&global);
  }
  kernel = support::with_parameter(kernel, llvm::PointerType::get(module.getContext(), air::kThreadgroupSpace));
  llvm::SmallVector<llvm::Constant*> constants(variables.begin(), variables.end());
  llvm::convertUsersOfConstantsToInstructions(constants);
  llvm::IRBuilder<> b(&*kernel->getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
  llvm::Value* memory = kernel->getArg(kernel->arg_size() - 1);
  for (llvm::GlobalVariable* variable : variables) {
    if (variable->use_empty()) {
      variable->eraseFromParent();
      continue;
    }
    const std::size_t alignment = std::max<std::size_t>(kLeastAlignment, variable->getAlign().valueOrOne().value());
    const std::size_t size = module.getDataLayout().getTypeAllocSize(variable->getValueType());
    layout.bytes = gpu::support::round_up(layout.bytes, alignment);
    if (variable->hasInitializer() && !llvm::isa<llvm::UndefValue>(variable->getInitializer())) {
      layout.cleared.emplace_back(layout.bytes, size);
    }
    auto* address = llvm::GetElementPtrInst::CreateInBounds(b.getInt8Ty(), memory, b.getInt64(layout.bytes), "",
                                                            b.GetInsertPoint());
    address->setMetadata(kVariableMark, mark_of(b, placed.size()));
    placed.push_back({plain_name(*variable), layout.bytes, size});
    variable->replaceAllUsesWith(address);
    variable->eraseFromParent();
    layout.bytes += size;
  }
  layout.bytes = gpu::support::round_up(layout.bytes, kLine);
  return kernel;
}

}  // namespace anymps::metal::lower::transform
