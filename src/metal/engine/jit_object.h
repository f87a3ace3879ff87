// Machine code in this process, from an object file.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "metal/runtime/kernel_guard.h"

namespace anymps::metal::engine {

class Code {
 public:
  // Throws KernelError with `name` where the object cannot be linked.
  static std::shared_ptr<Code> load(std::span<const std::byte> object, const std::string& name);
  ~Code();
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;

  // The function "run". It lives as long as this object.
  void* entry() const { return entry_; }
  // All that can be run of it.
  runtime::CodeRange range() const { return range_; }

 private:
  struct Linked;
  Code(std::unique_ptr<Linked> linked, void* entry, runtime::CodeRange range);

  std::unique_ptr<Linked> linked_;
  void* entry_;
  runtime::CodeRange range_;
};

}  // namespace anymps::metal::engine
