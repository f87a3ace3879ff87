// From a module of AIR to what the interpreter runs.
#pragma once

#include <deque>
#include <map>

#include "metal/interpret/memory.h"
#include "metal/interpret/program.h"

namespace llvm {
class BasicBlock;
class Function;
}  // namespace llvm

namespace anymps::metal::interpret {

class Translator {
 public:
  explicit Translator(ModuleMemory& memory) : memory_(memory) {}

  // Translates, or finds it translated. Throws pipeline::KernelError for what is not known. Lives as long as this.
  const Function& function(const llvm::Function& function);

  // What a function without parameters returns, an integer: it is run, by one lane.
  std::uint64_t result_of(const llvm::Function& function);

 private:
  ModuleMemory& memory_;
  std::deque<Function> functions_;
  std::map<const llvm::Function*, Function*> made_;
};

}  // namespace anymps::metal::interpret
