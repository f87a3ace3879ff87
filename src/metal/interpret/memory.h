// What a module says about memory: the shapes of types, the bytes of constants, and its globals.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "metal/abi/constant_values.h"
#include "metal/interpret/lanes.h"

namespace llvm {
class Constant;
class DataLayout;
class GlobalVariable;
class Module;
class Type;
}  // namespace llvm

namespace anymps::metal::air {
struct Signature;
}

namespace anymps::metal::interpret {

// Fresh memory of a GPU holds anything; here it holds this, so that a kernel that counts on zeros is seen.
inline constexpr std::byte kStale{0xcb};

class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(std::size_t size);
  std::byte* data() const { return bytes_.get(); }
  std::size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte* bytes) const;
  };
  std::unique_ptr<std::byte, Free> bytes_;
  std::size_t size_ = 0;
};

class ModuleMemory {
 public:
  // Lays out all globals. Throws pipeline::KernelError.
  ModuleMemory(const llvm::Module& module, const air::Signature& signature, const abi::ConstantValues& constants);

  Shape shape_of(const llvm::Type* type) const;
  // Bytes that live as long as this.
  const std::byte* cell_of(const llvm::Constant& constant);
  std::uint64_t size_of(const llvm::Type* type) const;
  // Where the indices of extractvalue and insertvalue lead.
  std::uint64_t offset_of(const llvm::Type* aggregate, std::span<const unsigned> indices) const;
  const llvm::DataLayout& layout() const { return layout_; }

  [[noreturn]] void refuse(const std::string& why) const;
  // Puts threadgroup variables into the state in which a threadgroup finds them.
  void begin_threadgroup() const;

 private:
  void write(const llvm::Constant& constant, std::byte* to);

  const llvm::DataLayout& layout_;
  const std::string kernel_;
  std::map<const llvm::GlobalVariable*, AlignedBytes> globals_;
  std::vector<std::pair<std::byte*, AlignedBytes>> threadgroup_;  // the variable, and what it begins with
  std::map<const llvm::Constant*, AlignedBytes> cells_;
};

}  // namespace anymps::metal::interpret
