#include "metal/engine/jit_object.h"

#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/Support/MemoryBuffer.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "metal/engine/compiler.h"
#include "metal/pipeline/kernel_error.h"
#include "metal/runtime/runtime_functions.h"
#include "metal/support/host_target.h"

namespace anymps::metal::engine {
namespace {

// Is told by the linker where it put code.
class CodeRanges final : public llvm::orc::ObjectLinkingLayer::Plugin {
 public:
  void modifyPassConfig(llvm::orc::MaterializationResponsibility& materialization, llvm::jitlink::LinkGraph&,
                        llvm::jitlink::PassConfiguration& passes) override {
    const llvm::orc::JITDylib* library = &materialization.getTargetJITDylib();
    passes.PostFixupPasses.push_back([this, library](llvm::jitlink::LinkGraph& graph) {
      note(library, graph);
      return llvm::Error::success();
    });
  }
  llvm::Error notifyFailed(llvm::orc::MaterializationResponsibility&) override { return llvm::Error::success(); }
  llvm::Error notifyRemovingResources(llvm::orc::JITDylib&, llvm::orc::ResourceKey) override {
    return llvm::Error::success();
  }
  void notifyTransferringResources(llvm::orc::JITDylib&, llvm::orc::ResourceKey, llvm::orc::ResourceKey) override {}

  // Of a library that is linked; asked for once.
  runtime::CodeRange take(const llvm::orc::JITDylib& library) {
    const std::lock_guard lock(mutex_);
    const auto node = ranges_.extract(&library);
    return node ? node.mapped() : runtime::CodeRange{};
  }

 private:
  static bool runs(llvm::orc::MemProt protection) {
    using llvm::BitmaskEnumDetail::operator&;
    return (protection & llvm::orc::MemProt::Exec) != llvm::orc::MemProt::None;
  }

  void note(const llvm::orc::JITDylib* library, llvm::jitlink::LinkGraph& graph) {
    runtime::CodeRange all{.begin = UINTPTR_MAX, .end = 0};
    for (llvm::jitlink::Section& section : graph.sections()) {
      if (!runs(section.getMemProt())) continue;
      const llvm::jitlink::SectionRange range(section);
      if (range.empty()) continue;
      all.begin = std::min<std::uintptr_t>(all.begin, range.getStart().getValue());
      all.end = std::max<std::uintptr_t>(all.end, range.getEnd().getValue());
    }
    const std::lock_guard lock(mutex_);
    ranges_[library] = all;
  }

  std::mutex mutex_;
  std::map<const llvm::orc::JITDylib*, runtime::CodeRange> ranges_;
};

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

  runtime::CodeRange take_range(const llvm::orc::JITDylib& library) { return ranges_->take(library); }

  void unlink(llvm::orc::JITDylib& library) { llvm::consumeError(jit_->getExecutionSession().removeJITDylib(library)); }

 private:
  Linker() {
    // Without symbols of the process, which LLJIT would link to otherwise: kernels reach the table and nothing else.
    jit_ = llvm::cantFail(
        llvm::orc::LLJITBuilder()
            .setJITTargetMachineBuilder(support::host_target())
            .setLinkProcessSymbolsByDefault(false)
            .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
            .setObjectLinkingLayerCreator([this](llvm::orc::ExecutionSession& session, const llvm::Triple&) {
              auto layer = std::make_unique<llvm::orc::ObjectLinkingLayer>(session);
              layer->addPlugin(ranges_);
              return layer;
            })
            .create());
    shared_ = &llvm::cantFail(jit_->createJITDylib("shared"));
    llvm::orc::SymbolMap own;
    runtime::for_each_runtime_function([&](std::string_view name, void* address) {
      own[jit_->mangleAndIntern(llvm::StringRef(name))] = {llvm::orc::ExecutorAddr::fromPtr(address),
                                                           llvm::JITSymbolFlags::Exported};
    });
    llvm::cantFail(shared_->define(llvm::orc::absoluteSymbols(std::move(own))));
  }

  const std::shared_ptr<CodeRanges> ranges_ = std::make_shared<CodeRanges>();
  std::unique_ptr<llvm::orc::LLJIT> jit_;
  llvm::orc::JITDylib* shared_ = nullptr;
  std::atomic<std::uint64_t> next_{0};
};

}  // namespace

struct Code::Linked {
  llvm::orc::JITDylib* library;
};

Code::Code(std::unique_ptr<Linked> linked, void* entry, runtime::CodeRange range)
    : linked_(std::move(linked)), entry_(entry), range_(range) {}

Code::~Code() { Linker::instance().unlink(*linked_->library); }

std::shared_ptr<Code> Code::load(std::span<const std::byte> object, const std::string& name) {
  if (const std::string foreign = runtime::foreign_symbol_of(object); !foreign.empty()) {
    throw pipeline::KernelError(name + ": its code calls '" + foreign +
                                "', which is not a function that kernels may call");
  }
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(
      llvm::StringRef(reinterpret_cast<const char*>(object.data()), object.size()), name);
  auto library = Linker::instance().link(std::move(buffer));
  if (!library) throw pipeline::KernelError(name + ": " + llvm::toString(library.takeError()));
  auto entry = Linker::instance().find(**library, "run");
  if (!entry) {
    const std::string why = llvm::toString(entry.takeError());
    Linker::instance().unlink(**library);
    throw pipeline::KernelError(name + ": " + why);
  }
  const runtime::CodeRange range = Linker::instance().take_range(**library);
  return std::shared_ptr<Code>(new Code(std::make_unique<Linked>(*library), *entry, range));
}

}  // namespace anymps::metal::engine
