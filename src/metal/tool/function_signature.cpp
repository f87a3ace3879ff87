#include "metal/tool/function_signature.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

namespace anymps::metal::tool {

air::Signature read_signature(const library::FunctionEntry& function) {
  llvm::LLVMContext context;
  return air::read_signature(*air::read_module(context, function.bitcode, function.name), function.name);
}

library::FunctionEntry entry_of(const std::string& kernel, std::span<const std::byte> air) {
  library::FunctionEntry function;
  function.name = kernel;
  function.bitcode = air;
  const air::Signature signature = read_signature(function);
  const auto narrow = [](unsigned number) { return static_cast<std::uint16_t>(number); };
  function.versions = {narrow(signature.air.major), narrow(signature.air.minor), narrow(signature.metal.major),
                       narrow(signature.metal.minor)};
  return function;
}

}  // namespace anymps::metal::tool
