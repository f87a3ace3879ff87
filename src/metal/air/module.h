// Bitcode to an LLVM module.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string_view>

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace anymps::metal::air {

// What is wrong with a module, beginning with the name of its function.
struct AirError : std::runtime_error {
  AirError(std::string_view function, const std::string& why)
      : std::runtime_error(std::string(function) + ": " + why) {}
};

// The module of one function of a library, read whole and verified; throws AirError. LLVM's bitcode reader is not made
// for hostile input: bitcode from an unknown source belongs into a child process (docs/security.md).
std::unique_ptr<llvm::Module> parse_module(llvm::LLVMContext& context, std::span<const std::byte> bitcode,
                                           std::string_view function);

// The same, of a module that refers to nothing outside of it (air/external_references.h): for all that goes on to run,
// or to say of a module that it can be run.
std::unique_ptr<llvm::Module> read_module(llvm::LLVMContext& context, std::span<const std::byte> bitcode,
                                          std::string_view function);

}  // namespace anymps::metal::air
