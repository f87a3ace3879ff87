#include "metal/air/external_references.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <string>

namespace anymps::metal::air {
namespace {

// Those that compute, and those that say something to the optimiser. Of the others some write registers, return
// addresses or call what a pointer leads to.
constexpr llvm::Intrinsic::ID kIntrinsics[] = {
    llvm::Intrinsic::abs,
    llvm::Intrinsic::acos,
    llvm::Intrinsic::annotation,
    llvm::Intrinsic::arithmetic_fence,
    llvm::Intrinsic::asin,
    llvm::Intrinsic::assume,
    llvm::Intrinsic::atan,
    llvm::Intrinsic::bitreverse,
    llvm::Intrinsic::bswap,
    llvm::Intrinsic::canonicalize,
    llvm::Intrinsic::ceil,
    llvm::Intrinsic::convert_from_fp16,
    llvm::Intrinsic::convert_to_fp16,
    llvm::Intrinsic::copysign,
    llvm::Intrinsic::cos,
    llvm::Intrinsic::cosh,
    llvm::Intrinsic::ctlz,
    llvm::Intrinsic::ctpop,
    llvm::Intrinsic::cttz,
    llvm::Intrinsic::dbg_assign,
    llvm::Intrinsic::dbg_declare,
    llvm::Intrinsic::dbg_label,
    llvm::Intrinsic::dbg_value,
    llvm::Intrinsic::debugtrap,
    llvm::Intrinsic::donothing,
    llvm::Intrinsic::exp,
    llvm::Intrinsic::exp10,
    llvm::Intrinsic::exp2,
    llvm::Intrinsic::expect,
    llvm::Intrinsic::expect_with_probability,
    llvm::Intrinsic::experimental_noalias_scope_decl,
    llvm::Intrinsic::fabs,
    llvm::Intrinsic::floor,
    llvm::Intrinsic::fma,
    llvm::Intrinsic::fmuladd,
    llvm::Intrinsic::fptosi_sat,
    llvm::Intrinsic::fptoui_sat,
    llvm::Intrinsic::frexp,
    llvm::Intrinsic::fshl,
    llvm::Intrinsic::fshr,
    llvm::Intrinsic::invariant_end,
    llvm::Intrinsic::invariant_start,
    llvm::Intrinsic::is_constant,
    llvm::Intrinsic::is_fpclass,
    llvm::Intrinsic::launder_invariant_group,
    llvm::Intrinsic::ldexp,
    llvm::Intrinsic::lifetime_end,
    llvm::Intrinsic::lifetime_start,
    llvm::Intrinsic::log,
    llvm::Intrinsic::log10,
    llvm::Intrinsic::log2,
    llvm::Intrinsic::maximum,
    llvm::Intrinsic::maxnum,
    llvm::Intrinsic::memcpy,
    llvm::Intrinsic::memcpy_inline,
    llvm::Intrinsic::memmove,
    llvm::Intrinsic::memset,
    llvm::Intrinsic::memset_inline,
    llvm::Intrinsic::minimum,
    llvm::Intrinsic::minnum,
    llvm::Intrinsic::nearbyint,
    llvm::Intrinsic::objectsize,
    llvm::Intrinsic::pow,
    llvm::Intrinsic::powi,
    llvm::Intrinsic::ptr_annotation,
    llvm::Intrinsic::ptrmask,
    llvm::Intrinsic::rint,
    llvm::Intrinsic::round,
    llvm::Intrinsic::roundeven,
    llvm::Intrinsic::sadd_sat,
    llvm::Intrinsic::sadd_with_overflow,
    llvm::Intrinsic::scmp,
    llvm::Intrinsic::sideeffect,
    llvm::Intrinsic::sin,
    llvm::Intrinsic::sinh,
    llvm::Intrinsic::smax,
    llvm::Intrinsic::smin,
    llvm::Intrinsic::smul_with_overflow,
    llvm::Intrinsic::sqrt,
    llvm::Intrinsic::ssa_copy,
    llvm::Intrinsic::sshl_sat,
    llvm::Intrinsic::ssub_sat,
    llvm::Intrinsic::ssub_with_overflow,
    llvm::Intrinsic::stackrestore,
    llvm::Intrinsic::stacksave,
    llvm::Intrinsic::strip_invariant_group,
    llvm::Intrinsic::tan,
    llvm::Intrinsic::tanh,
    llvm::Intrinsic::trap,
    llvm::Intrinsic::trunc,
    llvm::Intrinsic::uadd_sat,
    llvm::Intrinsic::uadd_with_overflow,
    llvm::Intrinsic::ubsantrap,
    llvm::Intrinsic::ucmp,
    llvm::Intrinsic::umax,
    llvm::Intrinsic::umin,
    llvm::Intrinsic::umul_with_overflow,
    llvm::Intrinsic::ushl_sat,
    llvm::Intrinsic::usub_sat,
    llvm::Intrinsic::usub_with_overflow,
    llvm::Intrinsic::var_annotation,
    llvm::Intrinsic::vector_extract,
    llvm::Intrinsic::vector_insert,
    llvm::Intrinsic::vector_reduce_add,
    llvm::Intrinsic::vector_reduce_and,
    llvm::Intrinsic::vector_reduce_fadd,
    llvm::Intrinsic::vector_reduce_fmax,
    llvm::Intrinsic::vector_reduce_fmaximum,
    llvm::Intrinsic::vector_reduce_fmin,
    llvm::Intrinsic::vector_reduce_fminimum,
    llvm::Intrinsic::vector_reduce_fmul,
    llvm::Intrinsic::vector_reduce_mul,
    llvm::Intrinsic::vector_reduce_or,
    llvm::Intrinsic::vector_reduce_smax,
    llvm::Intrinsic::vector_reduce_smin,
    llvm::Intrinsic::vector_reduce_umax,
    llvm::Intrinsic::vector_reduce_umin,
    llvm::Intrinsic::vector_reduce_xor,
    llvm::Intrinsic::vector_reverse,
};

// A function constant is a variable that has no value until the host gives one.
constexpr llvm::StringLiteral kFunctionConstant = ".MTL_FC_INIT_";

[[noreturn]] void refuse(const std::string& why) { throw ExternalReference(why); }

[[noreturn]] void refuse(const std::string& why, const llvm::Value& named) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << why << " '";
  llvm::printEscapedString(named.getName(), stream);
  stream << "'";
  refuse(stream.str());
}

void look_at_call(const llvm::CallInst& call) {
  if (call.isInlineAsm()) refuse("it has assembly");
  const auto* callee = llvm::dyn_cast<llvm::Function>(call.getCalledOperand());
  if (callee == nullptr) refuse("it calls a function by a pointer");
  const llvm::Intrinsic::ID intrinsic = callee->getIntrinsicID();
  if (call.hasOperandBundles() && intrinsic != llvm::Intrinsic::assume) refuse("it has a call with operand bundles");
  // The stack goes back to where it was, and nowhere else.
  if (intrinsic != llvm::Intrinsic::stackrestore) return;
  const auto* saved = llvm::dyn_cast<llvm::IntrinsicInst>(call.getArgOperand(0));
  if (saved == nullptr || saved->getIntrinsicID() != llvm::Intrinsic::stacksave) refuse("it moves the stack");
}

void look_at_instruction(const llvm::Instruction& instruction) {
  switch (instruction.getOpcode()) {
    case llvm::Instruction::Call:
      return look_at_call(llvm::cast<llvm::CallInst>(instruction));
    case llvm::Instruction::Invoke:
    case llvm::Instruction::CallBr:
    case llvm::Instruction::IndirectBr:
    case llvm::Instruction::LandingPad:
    case llvm::Instruction::Resume:
    case llvm::Instruction::CatchSwitch:
    case llvm::Instruction::CatchPad:
    case llvm::Instruction::CleanupPad:
    case llvm::Instruction::CatchRet:
    case llvm::Instruction::CleanupRet:
    case llvm::Instruction::VAArg:
      refuse(std::string("it has an instruction that no kernel has: ") + instruction.getOpcodeName());
    default:
      return;
  }
}

void look_at_intrinsic(const llvm::Function& function) {
  if (std::ranges::find(kIntrinsics, function.getIntrinsicID()) == std::end(kIntrinsics)) {
    refuse("it calls an intrinsic that no kernel needs:", function);
  }
}

void look_at_function(const llvm::Function& function) {
  if (function.isIntrinsic()) return look_at_intrinsic(function);
  const bool is_airs = is_external_function(function.getName());
  if (function.isDeclarationForLinker()) {
    if (!is_airs) refuse("it refers to a function that is neither its own nor AIR's:", function);
    return;
  }
  if (is_airs) refuse("it defines a function of AIR's:", function);
  if (function.hasPrologueData() || function.hasPrefixData()) refuse("it has data in front of a function:", function);
  for (const llvm::Instruction& instruction : llvm::instructions(function)) look_at_instruction(instruction);
}

void look_at_variable(const llvm::GlobalVariable& variable) {
  if (variable.isThreadLocal()) refuse("it has a thread-local variable:", variable);
  if (variable.getName() == "llvm.global_dtors") refuse("it has global destructors");
  if (variable.isDeclarationForLinker() && !variable.getName().contains(kFunctionConstant)) {
    refuse("it refers to a variable that it does not define:", variable);
  }
}

}  // namespace

bool is_external_function(std::string_view name) {
  return name.starts_with("air.") || name.starts_with("__tensorops_impl_");
}

void refuse_external_references(const llvm::Module& module) {
  if (!module.getModuleInlineAsm().empty()) refuse("it has assembly");
  if (!module.alias_empty()) refuse("it has an alias:", *module.alias_begin());
  if (!module.ifunc_empty()) refuse("it has an ifunc:", *module.ifunc_begin());
  for (const llvm::GlobalVariable& variable : module.globals()) look_at_variable(variable);
  for (const llvm::Function& function : module) look_at_function(function);
}

}  // namespace anymps::metal::air
