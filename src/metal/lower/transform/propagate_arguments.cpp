// What a launch gives by value is a constant of a kernel that is compiled for such launches.
#include "metal/lower/transform/propagate_arguments.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>

#include "metal/lower/support/kernel_parameter.h"

namespace anymps::metal::lower::transform {

void propagate_arguments(llvm::Function& kernel, std::span<const support::Parameter> parameters,
                         const ArgumentValues& known) {
  const llvm::Align kAlignment(16);
  llvm::Module& module = *kernel.getParent();
  for (unsigned i = 0; i < parameters.size(); ++i) {
    llvm::Argument* argument = kernel.getArg(i);
    const auto given = known.find(parameters[i].binding);
    if (parameters[i].role != support::Role::kBuffer || given == known.end() || !argument->getType()->isPointerTy())
      continue;
    const llvm::StringRef bytes(reinterpret_cast<const char*>(given->second.data()), given->second.size());
    llvm::Constant* value = llvm::ConstantDataArray::getString(module.getContext(), bytes, /*AddNull=*/false);
    auto* global = new llvm::GlobalVariable(
        module, value->getType(), /*isConstant=*/true, llvm::GlobalValue::PrivateLinkage, value, "known", nullptr,
        llvm::GlobalValue::NotThreadLocal, argument->getType()->getPointerAddressSpace());
    global->setAlignment(kAlignment);
    argument->replaceAllUsesWith(global);
  }
}

}  // namespace anymps::metal::lower::transform
