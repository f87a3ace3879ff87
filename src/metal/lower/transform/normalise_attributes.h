// What a module of Apple's takes for granted and this CPU does not, or the other way round.
#pragma once

#include <string_view>

namespace llvm {
class Function;
class Module;
}  // namespace llvm

namespace anymps::metal::lower::transform {

// What stands before the names that a module has given to functions and variables of its own, so that none is that of a
// function that lowering writes or calls: a kernel may be called "run" or "sinf".
inline constexpr std::string_view kOwnPrefix = "own.";
void keep_names_apart(llvm::Module& module);

// Apple's compiler leaves attributes that are about its GPU, or that would keep LLVM from inlining and from knowing
// libm. Others make LLVM write calls of functions by name, or code that is no kernel's.
void normalise_attributes(llvm::Module& module, llvm::Function* kernel);

// A GPU loads float4 from any multiple of 4 bytes, and kernels make use of it (rows of any length taken four at a
// time); the CPU's aligned loads would fault. A vector may also be copied as a whole, or element by element.
void trust_no_vector_alignment(llvm::Module& module);

// For the sanitiser: otherwise what is only written, or only read, is optimised away before it is seen.
void keep_threadgroup_variables(llvm::Module& module);

// LLVM must not conclude that what equals zero has no other bits than the sign. Of the other types it is to assume
// nothing: bfloat is computed as float, half is not.
void take_denormals_for_zero(llvm::Module& module);

// LLVM holds some of Intel's processors to half their registers, for fear of lower clocks; kernels are all arithmetic.
void use_whole_registers(llvm::Module& module);

}  // namespace anymps::metal::lower::transform
