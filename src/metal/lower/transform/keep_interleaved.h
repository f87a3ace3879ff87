// A thread's float4 is four vectors of lanes to the writer, and in memory four numbers side by side. Where all four are
// loaded, treated alike and stored, or summed up from round to round, they stay side by side: nothing is taken apart
// and put together.
#pragma once

#include <llvm/IR/PassManager.h>

namespace anymps::metal::lower::transform {

class KeepInterleavedPass : public llvm::PassInfoMixin<KeepInterleavedPass> {
 public:
  // NOLINTNEXTLINE(readability-identifier-naming): LLVM's name
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace anymps::metal::lower::transform
