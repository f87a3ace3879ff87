#include "metal/frontend/limits.h"

#include <clang/AST/ASTContext.h>
#include <clang/Sema/Sema.h>
#include <clang/Sema/TemplateInstCallback.h>

#include <ctime>
#include <memory>

namespace anymps::metal::frontend {
namespace {

// Of this thread, which compiles nothing else.
double seconds_used() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

class Watch final : public clang::TemplateInstantiationCallback {
 public:
  void initialize(const clang::Sema& /*sema*/) override {}
  void finalize(const clang::Sema& /*sema*/) override {}
  void atTemplateBegin(const clang::Sema& sema, const clang::Sema::CodeSynthesisContext& /*context*/) override {
    if (++count_ % 256 == 0) check_limits(const_cast<clang::Sema&>(sema));
  }
  void atTemplateEnd(const clang::Sema& /*sema*/, const clang::Sema::CodeSynthesisContext& /*context*/) override {}

 private:
  std::size_t count_ = 0;
};

}  // namespace

void check_limits(clang::Sema& sema) {
  clang::DiagnosticsEngine& diagnostics = sema.getDiagnostics();
  if (diagnostics.hasFatalErrorOccurred()) return;
  if (sema.getASTContext().getASTAllocatedMemory() > kMostTreeBytes) {
    diagnostics.Report(diagnostics.getCustomDiagID(clang::DiagnosticsEngine::Fatal,
                                                   "the program needs more memory to compile than %0 GiB"))
        << static_cast<unsigned>(kMostTreeBytes >> 30U);
  } else if (seconds_used() > kMostSeconds) {
    diagnostics.Report(diagnostics.getCustomDiagID(clang::DiagnosticsEngine::Fatal,
                                                   "the program takes longer to compile than %0 seconds"))
        << static_cast<unsigned>(kMostSeconds);
  }
}

void watch_limits(clang::Sema& sema) { sema.TemplateInstCallbacks.push_back(std::make_unique<Watch>()); }

}  // namespace anymps::metal::frontend
