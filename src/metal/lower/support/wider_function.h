// A function with one parameter more.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>

namespace anymps::metal::lower::support {

// The same function, its name and its code, with a last parameter of that type; the old one is gone.
inline llvm::Function* with_parameter(llvm::Function* function, llvm::Type* type) {
  llvm::SmallVector<llvm::Type*> types;
  for (llvm::Argument& argument : function->args()) types.push_back(argument.getType());
  types.push_back(type);
  auto* wider = llvm::Function::Create(llvm::FunctionType::get(function->getReturnType(), types, false),
                                       function->getLinkage(), "", function->getParent());
  wider->copyAttributesFrom(function);
  wider->takeName(function);
  wider->splice(wider->end(), function);
  for (unsigned i = 0; i < function->arg_size(); ++i) function->getArg(i)->replaceAllUsesWith(wider->getArg(i));
  function->eraseFromParent();
  return wider;
}

}  // namespace anymps::metal::lower::support
