#include "metal/support/host_target.h"

#include <llvm/Support/TargetSelect.h>

namespace anymps::metal::support {
namespace {

// LLVM looks into a file for it, each time it is asked.
llvm::orc::JITTargetMachineBuilder detected_target() {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto builder = llvm::cantFail(llvm::orc::JITTargetMachineBuilder::detectHost());
  builder.setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
  builder.setRelocationModel(llvm::Reloc::PIC_);
  // LLVM 19 turns operands of masked comparisons of halves around to fold a reload, and leaves "less than" as it is.
  // Without these instructions halves are computed as floats and rounded.
  if (builder.getTargetTriple().isX86()) builder.getFeatures().AddFeature("avx512fp16", false);
  // AIR says with llvm.fmuladd where it may contract; nowhere else.
  builder.getOptions().AllowFPOpFusion = llvm::FPOpFusion::Standard;
  // What must not be reached is a trap, not whatever lies behind it.
  builder.getOptions().TrapUnreachable = true;
  return builder;
}

}  // namespace

llvm::orc::JITTargetMachineBuilder host_target() {
  static const llvm::orc::JITTargetMachineBuilder target = detected_target();
  return target;
}

const std::string& host_name() {
  static const std::string name = [] {
    llvm::orc::JITTargetMachineBuilder builder = host_target();
    return builder.getTargetTriple().str() + " " + builder.getCPU() + " " + builder.getFeatures().getString();
  }();
  return name;
}

}  // namespace anymps::metal::support
