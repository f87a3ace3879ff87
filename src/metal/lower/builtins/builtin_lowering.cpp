#include "metal/lower/builtins/builtin_lowering.h"

#include <llvm/IR/Module.h>

#include "metal/air/external_references.h"

namespace anymps::metal::lower::builtins {
namespace {

constexpr llvm::StringLiteral kPrefix = "air.";

bool lacks_a_body(const llvm::Function& function) {
  return function.isDeclaration() && air::is_external_function(function.getName()) && !function.use_empty() &&
         !is_cooperative(function.getName()) && !is_thread_index(function.getName());
}

}  // namespace

bool is_cooperative(llvm::StringRef function) {
  if (function == kTensorOperation) return true;
  for (const llvm::StringRef prefix : {"air.simdgroup.barrier", "air.simd_", "air.quad_", "air.simdgroup_matrix_8x8"}) {
    if (function.starts_with(prefix)) return true;
  }
  return is_threadgroup_barrier(function);
}

bool is_thread_index(llvm::StringRef function) {
  return function.starts_with(kIndexInSimdgroup) || function.starts_with(kSimdgroupIndex);
}

bool is_threadgroup_barrier(llvm::StringRef function) { return function.starts_with("air.wg.barrier"); }

const llvm::CallInst* cooperative_call(const llvm::Value& value) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&value);
  const llvm::Function* function = call != nullptr ? call->getCalledFunction() : nullptr;
  return function != nullptr && is_cooperative(function->getName()) ? call : nullptr;
}

void meet_simdgroup_before(llvm::Instruction& place) {
  llvm::IRBuilder<> b(&place);
  const auto barrier =
      place.getModule()->getOrInsertFunction("air.simdgroup.barrier", b.getVoidTy(), b.getInt32Ty(), b.getInt32Ty());
  b.CreateCall(barrier, {b.getInt32(0), b.getInt32(0)});
}

bool waits_for_threadgroup(const llvm::BasicBlock& block) {
  return llvm::any_of(block, [](const llvm::Instruction& instruction) {
    const llvm::CallInst* call = cooperative_call(instruction);
    return call != nullptr && is_threadgroup_barrier(call->getCalledFunction()->getName());
  });
}

void define_builtins(llvm::Module& module, Writer write) {
  llvm::IRBuilder<> builder(module.getContext());
  for (llvm::Function& function : module) {
    if (!lacks_a_body(function)) continue;
    auto* block = llvm::BasicBlock::Create(module.getContext(), "", &function);
    builder.SetInsertPoint(block);
    llvm::SmallVector<llvm::Value*> arguments;
    for (llvm::Argument& argument : function.args()) arguments.push_back(&argument);
    llvm::StringRef name = function.getName();
    name.consume_front(kPrefix);
    const auto [operation, suffix] = name.split('.');
    llvm::Value* value = nullptr;
    if (write(builder, {operation, suffix, arguments, function.getReturnType()}, value) == Written::kNotMine) {
      block->eraseFromParent();
      continue;
    }
    function.setSection("");  // which says that it is defined elsewhere
    if (function.getReturnType()->isVoidTy()) {
      builder.CreateRetVoid();
    } else {
      builder.CreateRet(value);
    }
  }
}

llvm::CallInst* call_library(llvm::IRBuilder<>& b, llvm::StringRef name, llvm::ArrayRef<llvm::Value*> arguments) {
  llvm::Module& module = *b.GetInsertBlock()->getModule();
  const llvm::SmallVector<llvm::Type*> types(arguments.size(), b.getFloatTy());
  llvm::FunctionCallee callee = module.getOrInsertFunction(name, llvm::FunctionType::get(b.getFloatTy(), types, false));
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setDoesNotThrow();
  function->setDoesNotAccessMemory();
  function->setWillReturn();
  return b.CreateCall(callee, arguments);
}

std::vector<std::string> unknown_functions(const llvm::Module& module) {
  std::vector<std::string> names;
  for (const llvm::Function& function : module) {
    if (lacks_a_body(function)) names.push_back(function.getName().str());
  }
  return names;
}

void copy_denormals(const llvm::Function& from, llvm::Function& to) {
  for (const char* attribute : {"denormal-fp-math", "denormal-fp-math-f32"}) {
    if (from.hasFnAttribute(attribute)) to.addFnAttr(from.getFnAttribute(attribute));
  }
}

}  // namespace anymps::metal::lower::builtins
