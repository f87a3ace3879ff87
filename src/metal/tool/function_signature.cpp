#include "metal/tool/function_signature.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

namespace anymps::metal {

Signature read_signature(const FunctionEntry& function) {
  llvm::LLVMContext context;
  return read_signature(*read_module(context, function.bitcode, function.name), function.name);
}

}  // namespace anymps::metal
