// Functions of Apple's GPU that a CPU can do by itself ("air.sin.f32", "air.convert.f.f16.s.i32") are declarations in
// AIR. Each pass here gives bodies to a family of them; the inliner does the rest.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/IR/IRBuilder.h>

#include <string>
#include <vector>

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace anymps::metal::lower::builtins {

// What a pass knows of one declaration.
struct Declared {
  llvm::StringRef operation;  // "convert", or the whole name where it does not begin with "air."
  llvm::StringRef suffix;     // "f.f16.s.i32"
  llvm::ArrayRef<llvm::Value*> arguments;
  llvm::Type* result;
};

enum class Written { kNotMine, kDone };

// Calls `write` for each declared function of AIR that is used and has no body yet, with the builder in its first
// block. A writer that returns kDone has set `value` to the result (anything for void).
using Writer = llvm::function_ref<Written(llvm::IRBuilder<>& builder, const Declared& declared, llvm::Value*& value)>;
void define_builtins(llvm::Module& module, Writer write);

// A call of the C library's function of floats that has no effect but its result.
llvm::CallInst* call_library(llvm::IRBuilder<>& b, llvm::StringRef name, llvm::ArrayRef<llvm::Value*> arguments);

// The functions of lower_math that pay as formulas; it does the rest.
void lower_elementary(llvm::Module& module, const llvm::TargetMachine& target);
void lower_math(llvm::Module& module, bool denormals_are_zero);
void lower_integers(llvm::Module& module);
void lower_conversions(llvm::Module& module);
void lower_atomics(llvm::Module& module);
// Tensors, and cooperative tensors with what is done to them. Returns why not.
std::string lower_tensors(llvm::Module& module);
std::string lower_tensor_operations(llvm::Module& module);

// After all optimisation: what is only moved keeps its bits.
void expand_bfloat(llvm::Module& module);
// After all optimisation, which would turn it back.
void promote_half(llvm::Module& module);

// What a tensor operation becomes: a call with the address of its abi::TensorCall.
inline constexpr llvm::StringLiteral kTensorOperation = "anymps.tensor_operation";

// Functions by which a thread asks for its own place, where no parameter of the kernel says it.
inline constexpr llvm::StringLiteral kIndexInSimdgroup = "air.get_thread_index_in_simdgroup";
inline constexpr llvm::StringLiteral kSimdgroupIndex = "air.get_simdgroup_index_in_threadgroup";
bool is_thread_index(llvm::StringRef function);

// Whether threads do it together: barriers, simdgroup and quad operations, 8x8 matrices, tensor operations.
bool is_cooperative(llvm::StringRef function);
bool is_threadgroup_barrier(llvm::StringRef function);
// The call of a cooperative function that `value` is; null for anything else.
const llvm::CallInst* cooperative_call(const llvm::Value& value);

// Has the lanes of a simdgroup meet in front of it.
void meet_simdgroup_before(llvm::Instruction& place);

// What is said of denormals in one function holds in another that is made of it.
void copy_denormals(const llvm::Function& from, llvm::Function& to);
bool waits_for_threadgroup(const llvm::BasicBlock& block);
// Names of declarations of AIR's that are still used and that no pass knew.
std::vector<std::string> unknown_functions(const llvm::Module& module);

}  // namespace anymps::metal::lower::builtins
