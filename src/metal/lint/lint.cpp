#include "metal/lint/lint.h"

#include <llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <array>

#include "metal/engine/host_target.h"
#include "metal/lower/adopt.h"
#include "metal/lower/optimiser.h"

namespace anymps::metal::lint {
namespace {

using Lint = void (*)(const Kernel& kernel, std::vector<Finding>& findings);

constexpr std::array<Lint, 2> kLints = {find_unguarded_indices, find_missing_barriers};

}  // namespace

std::vector<Finding> lint_kernel(const FunctionEntry& function) {
  llvm::LLVMContext context;
  const auto module = read_module(context, function.bitcode, function.name);
  const Signature signature = read_signature(*module, function.name);
  llvm::Function* kernel = module->getFunction(function.name);
  const auto target = llvm::cantFail(engine::host_target().createTargetMachine());
  lower::adopt_functions(*module, kernel);
  lower::keep_threadgroup_variables(*module);
  lower::Optimiser(*target).flatten(*module);
  std::vector<Finding> findings;
  for (const Lint lint : kLints) lint({*kernel, signature}, findings);
  return findings;
}

}  // namespace anymps::metal::lint
