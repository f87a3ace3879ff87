// A function constant is a global "<name>.MTL_FC_INIT_<id>_<type>" that the host sets; a static initialiser copies it
// to the global that the kernel reads. With the value in place, the optimiser evaluates that initialiser.
#include "metal/lower/transform/function_constants.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>

#include "metal/abi/constant_values.h"

namespace anymps::metal::lower::transform {

void set_function_constants(llvm::Module& module, const abi::ConstantValues& values) {
  constexpr llvm::StringLiteral kMark = ".MTL_FC_INIT_";
  for (llvm::GlobalVariable& global : module.globals()) {
    const std::size_t mark = global.getName().find(kMark);
    if (mark == llvm::StringRef::npos) continue;
    unsigned id = 0;
    global.getName().drop_front(mark + kMark.size()).consumeInteger(10, id);
    const auto given = values.find(id);
    llvm::Type* type = global.getValueType();
    const auto size = static_cast<unsigned>(type->getPrimitiveSizeInBits());
    if (size == 0) continue;  // a structure or a pointer: no constant of Metal's, and undefined at the end
    auto* bits = llvm::ConstantInt::get(llvm::IntegerType::get(module.getContext(), size),
                                        given == values.end() ? 0 : given->second);
    global.setInitializer(type->isIntegerTy() ? bits : llvm::ConstantExpr::getBitCast(bits, type));
    global.setExternallyInitialized(false);
  }
  if (llvm::GlobalVariable* used = module.getNamedGlobal("llvm.compiler.used")) used->eraseFromParent();
  for (llvm::GlobalObject& object : module.global_objects()) object.setSection("");
}

}  // namespace anymps::metal::lower::transform
