#include "metal/engine/code.h"

#include <dlfcn.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Support/MemoryBuffer.h>

#include <atomic>
#include <cmath>

#include "metal/engine/compiler.h"
#include "metal/engine/host_target.h"
#include "metal/engine/validator.h"

namespace anymps::metal::engine {
namespace {

// Metal's functions of pi times x; the C library of this system has none. They are zero where they should be, as gamma
// functions rely on: the remainder is exact, and so is the way back from a whole turn. CPUs that cannot fuse a multiply
// and an add have them; others have formulas (lower/half_turns.cpp).
float sinpi(float x) {
  const float turn = std::remainder(x, 2.0F);
  const float half = std::fabs(turn) > 0.5F ? std::copysign(1.0F, turn) - turn : turn;
  return half == 0 ? std::copysign(0.0F, x) : static_cast<float>(std::sin(M_PI * half));
}
float cospi(float x) { return static_cast<float>(std::sin(M_PI * (0.5 - std::fabs(std::remainder(x, 2.0F))))); }
float tanpi(float x) { return sinpi(x) / cospi(x); }

// The C library's under names that LLVM does not know: it may not call them for nothing (lower/vector_forms.h).
float far_sin(float x) { return std::sin(x); }
float far_cos(float x) { return std::cos(x); }
float far_tan(float x) { return std::tan(x); }

// One linker for the process: each kernel is a library of its own in it.
class Linker {
 public:
  static Linker& instance() {
    static auto* const linker = new Linker;
    return *linker;
  }

  llvm::Expected<llvm::orc::JITDylib*> link(std::unique_ptr<llvm::MemoryBuffer> object) {
    auto library = jit_->createJITDylib("kernel" + std::to_string(next_.fetch_add(1)));
    if (!library) return library.takeError();
    library->addToLinkOrder(*shared_);
    if (llvm::Error error = jit_->addObjectFile(*library, std::move(object))) return error;
    return &*library;
  }

  llvm::Expected<void*> find(llvm::orc::JITDylib& library, const char* name) {
    auto symbol = jit_->lookup(library, name);
    if (!symbol) return symbol.takeError();
    return symbol->toPtr<void*>();
  }

  void unlink(llvm::orc::JITDylib& library) { llvm::consumeError(jit_->getExecutionSession().removeJITDylib(library)); }

 private:
  Linker() {
    dlopen("libm.so.6", RTLD_NOW | RTLD_GLOBAL);  // what kernels call
    jit_ = llvm::cantFail(llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(host_target()).create());
    shared_ = &llvm::cantFail(jit_->createJITDylib("shared"));
    shared_->addGenerator(llvm::cantFail(
        llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(jit_->getDataLayout().getGlobalPrefix())));
    llvm::orc::SymbolMap own;
    const auto define = [&](const char* name, auto* function) {
      own[jit_->mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(function), llvm::JITSymbolFlags::Exported};
    };
    define("anymps_air_sinpi", &sinpi);
    define("anymps_air_cospi", &cospi);
    define("anymps_air_tanpi", &tanpi);
    define("anymps_far_sin", &far_sin);
    define("anymps_far_cos", &far_cos);
    define("anymps_far_tan", &far_tan);
    define(lower::kAccessHook, &Validator::access_hook);
    define(lower::kLoopHook, &Validator::loop_hook);
    define(lower::kOutsideHook, &Validator::outside_hook);
    define(lower::kFenceHook, &Validator::fence_hook);
    llvm::cantFail(shared_->define(llvm::orc::absoluteSymbols(std::move(own))));
  }

  std::unique_ptr<llvm::orc::LLJIT> jit_;
  llvm::orc::JITDylib* shared_ = nullptr;
  std::atomic<std::uint64_t> next_{0};
};

}  // namespace

struct Code::Linked {
  llvm::orc::JITDylib* library;
};

Code::Code(std::unique_ptr<Linked> linked, void* entry) : linked_(std::move(linked)), entry_(entry) {}

Code::~Code() { Linker::instance().unlink(*linked_->library); }

std::shared_ptr<Code> Code::load(std::span<const std::byte> object, const std::string& name) {
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(
      llvm::StringRef(reinterpret_cast<const char*>(object.data()), object.size()), name);
  auto library = Linker::instance().link(std::move(buffer));
  if (!library) throw KernelError(name + ": " + llvm::toString(library.takeError()));
  auto entry = Linker::instance().find(**library, "run");
  if (!entry) {
    const std::string why = llvm::toString(entry.takeError());
    Linker::instance().unlink(**library);
    throw KernelError(name + ": " + why);
  }
  return std::shared_ptr<Code>(new Code(std::make_unique<Linked>(*library), *entry));
}

}  // namespace anymps::metal::engine
