// The kernels of a program as its source declares them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "metal/air/signature.h"

namespace clang {
class CodeGenerator;
class ASTContext;
}  // namespace clang

namespace llvm {
class Module;
}

namespace anymps::metal::frontend::sema {

struct KernelParameter {
  air::ArgumentKind kind = air::ArgumentKind::kBuffer;
  std::string name;
  std::string type_name;
  // Of what is bound by index.
  unsigned binding = 0;
  unsigned address_space = 0;
  bool read_only = false;
  bool is_reference = false;  // at least one element is there
  std::size_t size = 0;
  std::size_t alignment = 0;
  std::vector<air::Member> members;  // of a struct
  // Of the others.
  unsigned components = 1;
  unsigned bits = 32;
};

struct KernelDeclaration {
  std::string function;            // of the module
  std::vector<std::string> names;  // by which it is launched
  std::vector<KernelParameter> parameters;
  std::optional<unsigned> max_total_threads;
  std::string place;  // "program_source:3:13", its line, and a caret below
};

struct ConstantDeclaration {
  std::string global;  // of the module
  std::string name;
  std::string type_name;
  unsigned id = 0;
};

struct Declarations {
  std::vector<KernelDeclaration> kernels;
  std::vector<ConstantDeclaration> constants;
};

// Of the module that the generator made. What Metal does not allow is reported to the context's diagnostics.
Declarations read_declarations(clang::CodeGenerator& generator, clang::ASTContext& context, llvm::Module& module);

}  // namespace anymps::metal::frontend::sema
