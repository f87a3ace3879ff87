// Passes that fix a kernel to what is known before it runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace llvm {
class Function;
class GlobalVariable;
class Module;
class Value;
}  // namespace llvm

namespace anymps::metal::lower {

struct Parameter;

// Function constants by id, as the bits of their type. Those that are not given are zero.
using ConstantValues = std::map<unsigned, std::uint64_t>;
void set_function_constants(llvm::Module& module, const ConstantValues& values);

// What buffers hold, by binding, for a kernel that is launched with nothing else.
using KnownBytes = std::map<unsigned, std::vector<std::byte>>;
void set_known_bytes(llvm::Function& kernel, std::span<const Parameter> parameters, const KnownBytes& known);

struct ThreadgroupVariable {
  std::string name;
  std::size_t offset = 0;
  std::size_t size = 0;
};

// The name in the source, which ends a mangled one ("_ZZ4sumsPfE6shared").
std::string plain_name(const llvm::GlobalVariable& variable);

// On the instruction that is a threadgroup variable's address: which one, by its place in the layout.
inline constexpr char kVariableMark[] = "anymps.variable";

// Where the module's threadgroup variables lie in a threadgroup's memory.
struct ThreadgroupLayout {
  std::size_t bytes = 0;                                     // a multiple of 64
  std::vector<std::pair<std::size_t, std::size_t>> cleared;  // offset and size of what starts as zero
};

// Takes the variables out of the module: the kernel gets one more parameter, the threadgroup's memory, and is returned.
// `variables` is given one entry for each.
llvm::Function* place_threadgroup_variables(llvm::Module& module, llvm::Function* kernel, ThreadgroupLayout& layout,
                                            std::vector<ThreadgroupVariable>& variables);

// No division of integers stops the process, whatever its operands are.
void make_divisions_safe(llvm::Module& module);

// AIR types an 8x8 matrix as 64 elements, of which a thread owns two. Makes them two; false, with the reason, where a
// value is used in a way that this does not know.
bool narrow_matrices(llvm::Function& function, const char*& reason);

}  // namespace anymps::metal::lower
