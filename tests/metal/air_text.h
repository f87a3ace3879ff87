// Kernels written by hand as LLVM IR, with the metadata that Apple's compiler would leave.
#pragma once

#include <llvm/AsmParser/Parser.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "metal/library/metallib.h"

namespace anymps::metal::testing {

inline std::vector<std::byte> bitcode_of(const llvm::Module& module) {
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  llvm::WriteBitcodeToFile(module, stream);
  stream.flush();
  const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
  return {begin, begin + bytes.size()};
}

// A kernel "k" whose parameters are device float buffers at bindings 0, 1, ..., then the builtins named, each a uint.
class AirText {
 public:
  AirText& buffers(unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      const std::string n = std::to_string(i);
      parameter("ptr addrspace(1) %b" + n, "!\"air.buffer\", !\"air.location_index\", i32 " + n +
                                               ", i32 1, !\"air.read_write\", !\"air.address_space\", i32 1, "
                                               "!\"air.arg_type_size\", i32 4, !\"air.arg_type_align_size\", i32 4, "
                                               "!\"air.arg_type_name\", !\"float\", !\"air.arg_name\", !\"b" +
                                               n + "\"");
    }
    return *this;
  }
  // Threadgroup memory %t of floats, of a length that the launch says.
  AirText& builtin(const std::string& name) {
    parameter("i32 %" + name,
              "!\"air." + name + "\", !\"air.arg_type_name\", !\"uint\", !\"air.arg_name\", !\"" + name + "\"");
    return *this;
  }
  AirText& builtin3(const std::string& name) {
    parameter("<3 x i32> %" + name,
              "!\"air." + name + "\", !\"air.arg_type_name\", !\"uint3\", !\"air.arg_name\", !\"" + name + "\"");
    return *this;
  }
  // Threadgroup memory that the launch gives, at binding 0.
  AirText& threadgroup_buffer(const std::string& name = "t") {
    parameter("ptr addrspace(3) %" + name,
              "!\"air.buffer\", !\"air.location_index\", i32 0, i32 1, !\"air.read_write\", "
              "!\"air.address_space\", i32 3, !\"air.arg_type_size\", i32 4, !\"air.arg_type_align_size\", i32 4, "
              "!\"air.arg_type_name\", !\"float\", !\"air.arg_name\", !\"" +
                  name + "\"");
    return *this;
  }
  // Globals and declarations.
  AirText& outside(const std::string& text) {
    outside_ += text + "\n";
    return *this;
  }
  AirText& body(const std::string& text) {
    body_ = text;
    return *this;
  }

  AirText& without_denormals() {
    return outside("!air.compile_options = !{!102}\n!102 = !{!\"air.compile.denorms_disable\"}");
  }

  std::string text() const {
    std::string list;
    for (unsigned i = 0; i < nodes_.size(); ++i) list += (i == 0 ? "!" : ", !") + std::to_string(3 + i);
    std::string text = outside_ + "define void @k(" + parameters_ + ") {\n" + body_ + "}\n" +
                       "!air.version = !{!100}\n!air.language_version = !{!101}\n!air.kernel = !{!0}\n"
                       "!100 = !{i32 2, i32 6, i32 0}\n!101 = !{!\"Metal\", i32 3, i32 1, i32 0}\n"
                       "!0 = !{ptr @k, !1, !2}\n!1 = !{}\n!2 = !{" +
                       list + "}\n";
    for (unsigned i = 0; i < nodes_.size(); ++i) {
      text += "!" + std::to_string(3 + i) + " = !{i32 " + std::to_string(i) + ", " + nodes_[i] + "}\n";
    }
    return text;
  }

  std::vector<std::byte> bitcode() const {
    llvm::LLVMContext context;
    llvm::SMDiagnostic problem;
    const auto module = llvm::parseAssemblyString(text(), problem, context);
    if (!module) throw std::runtime_error(problem.getMessage().str() + " in\n" + text());
    return bitcode_of(*module);
  }

 private:
  void parameter(const std::string& type, const std::string& node) {
    parameters_ += (parameters_.empty() ? "" : ", ") + type;
    nodes_.push_back(node);
  }

  std::string parameters_;
  std::vector<std::string> nodes_;
  std::string outside_;
  std::string body_;
};

// A thread's own element of buffer 1 is %x, and %to is its place in buffer 0.
inline constexpr const char* kLoadOwn = R"(
  %i = zext i32 %thread_position_in_grid to i64
  %from = getelementptr float, ptr addrspace(1) %b1, i64 %i
  %to = getelementptr float, ptr addrspace(1) %b0, i64 %i
  %x = load float, ptr addrspace(1) %from, align 4
)";

// Buffer 0 gets what `compute` makes %y of %x.
inline AirText unary(const std::string& outside, const std::string& compute) {
  return AirText()
      .buffers(2)
      .builtin("thread_position_in_grid")
      .outside(outside)
      .body(kLoadOwn + compute + "  store float %y, ptr addrspace(1) %to, align 4\n  ret void\n");
}

// An entry whose bitcode lives beside it.
struct OwnedFunction {
  explicit OwnedFunction(const AirText& air) : bytes(air.bitcode()) {
    entry.name = "k";
    entry.bitcode = bytes;
  }
  std::vector<std::byte> bytes;
  library::FunctionEntry entry;
};

}  // namespace anymps::metal::testing
