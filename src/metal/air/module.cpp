#include "metal/air/module.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBufferRef.h>
#include <llvm/Support/raw_ostream.h>

#include <string>

#include "metal/air/external_references.h"

namespace anymps::metal::air {
namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

std::unique_ptr<llvm::Module> parse_module(llvm::LLVMContext& context, std::span<const std::byte> bitcode,
                                           std::string_view function) {
  const llvm::StringRef bytes(reinterpret_cast<const char*>(bitcode.data()), bitcode.size());
  const std::string name(function);
  auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bytes, name), context);
  if (!module) throw AirError(function, "its bitcode cannot be read: " + first_line(toString(module.takeError())));
  std::string complaint;
  llvm::raw_string_ostream stream(complaint);
  if (llvm::verifyModule(**module, &stream)) {
    throw AirError(function, "its bitcode is not valid: " + first_line(stream.str()));
  }
  return std::move(*module);
}

std::unique_ptr<llvm::Module> read_module(llvm::LLVMContext& context, std::span<const std::byte> bitcode,
                                          std::string_view function) {
  std::unique_ptr<llvm::Module> module = parse_module(context, bitcode, function);
  try {
    refuse_external_references(*module);
  } catch (const ExternalReference& found) {
    throw AirError(function, found.what());
  }
  return module;
}

}  // namespace anymps::metal::air
