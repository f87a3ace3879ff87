// Lays a module's threadgroup variables out in a threadgroup's memory.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace llvm {
class Function;
class GlobalVariable;
class Module;
}  // namespace llvm

namespace anymps::metal::lower::transform {

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

}  // namespace anymps::metal::lower::transform
