#include "metal/frontend/sema/kernel_declarations.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/Decl.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/Expr.h>
#include <clang/AST/RecordLayout.h>
#include <clang/Basic/Diagnostic.h>
#include <clang/Basic/SourceManager.h>
#include <clang/CodeGen/ModuleBuilder.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <set>

#include "metal/frontend/support/annotations.h"
#include "metal/frontend/support/diagnostics.h"

namespace anymps::metal::frontend::sema {
namespace {

llvm::StringRef word_of(const clang::AnnotateAttr& attribute) {
  llvm::StringRef word = attribute.getAnnotation();
  return word.consume_front(support::kAnnotationPrefix) ? word : llvm::StringRef();
}

const clang::AnnotateAttr* find(const clang::Decl& declaration, llvm::StringRef word) {
  for (const auto* attribute : declaration.specific_attrs<clang::AnnotateAttr>()) {
    if (word_of(*attribute) == word) return attribute;
  }
  return nullptr;
}

std::optional<unsigned> number_of(const clang::AnnotateAttr& attribute, const clang::ASTContext& context) {
  if (attribute.args_size() == 0) return std::nullopt;
  const clang::Expr* argument = *attribute.args_begin();
  clang::Expr::EvalResult result;
  if (argument->isValueDependent() || !argument->EvaluateAsInt(result, context)) return std::nullopt;
  return static_cast<unsigned>(result.Val.getInt().getLimitedValue(UINT32_MAX));
}

std::string text_of(const clang::AnnotateAttr& attribute) {
  if (attribute.args_size() == 0) return "";
  const clang::Expr* argument = *attribute.args_begin();
  if (const auto* constant = llvm::dyn_cast<clang::ConstantExpr>(argument)) argument = constant->getSubExpr();
  const auto* text = llvm::dyn_cast<clang::StringLiteral>(argument->IgnoreParenImpCasts());
  return text == nullptr ? "" : text->getString().str();
}

// The elements of metal::vec<T, N>, or of a number one.
struct Numbers {
  clang::QualType element;
  unsigned count = 1;
};
Numbers numbers_of(clang::QualType type) {
  type = type.getCanonicalType().getUnqualifiedType();
  const auto* record = type->getAsCXXRecordDecl();
  const auto* specialised = llvm::dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(record);
  if (specialised == nullptr || specialised->getName() != "vec") return {type, 1};
  const clang::TemplateArgumentList& arguments = specialised->getTemplateArgs();
  return {arguments[0].getAsType(), static_cast<unsigned>(arguments[1].getAsIntegral().getLimitedValue())};
}

class Reader {
 public:
  Reader(clang::CodeGenerator& generator, clang::ASTContext& context, llvm::Module& module)
      : generator_(generator), context_(context), module_(module), policy_(context.getPrintingPolicy()) {
    policy_.SuppressTagKeyword = true;
    policy_.SuppressScope = true;
  }

  Declarations read() {
    for (llvm::Function& function : module_) {
      if (function.isDeclaration()) continue;
      const auto* declaration =
          llvm::dyn_cast_or_null<clang::FunctionDecl>(generator_.GetDeclForMangledName(function.getName()));
      if (declaration != nullptr && find(*declaration, "kernel") != nullptr) read_kernel(function, *declaration);
    }
    for (llvm::GlobalVariable& global : module_.globals()) {
      if (!global.isDeclaration()) continue;
      const auto* declaration =
          llvm::dyn_cast_or_null<clang::VarDecl>(generator_.GetDeclForMangledName(global.getName()));
      if (declaration == nullptr) continue;
      if (const auto* attribute = find(*declaration, "function_constant"))
        read_constant(global, *declaration, *attribute);
    }
    return std::move(found_);
  }

 private:
  template <unsigned N>
  void error(clang::SourceLocation where, const char (&format)[N], const std::string& what) {
    clang::DiagnosticsEngine& diagnostics = context_.getDiagnostics();
    diagnostics.Report(where, diagnostics.getCustomDiagID(clang::DiagnosticsEngine::Error, format)) << what;
  }

  std::string name_of(clang::QualType type) const {
    return support::in_words_of_metal(type.getUnqualifiedType().getAsString(policy_));
  }

  void read_kernel(const llvm::Function& function, const clang::FunctionDecl& declaration) {
    KernelDeclaration kernel;
    kernel.function = function.getName().str();
    kernel.place = place_of(declaration.getLocation());
    if (llvm::isa<clang::CXXMethodDecl>(declaration)) {
      error(declaration.getLocation(), "kernel function '%0' cannot be a member of a class",
            declaration.getNameAsString());
      return;
    }
    if (!declaration.getReturnType()->isVoidType()) {
      error(declaration.getLocation(), "kernel function '%0' must return void", declaration.getNameAsString());
    }
    for (const auto* attribute : declaration.specific_attrs<clang::AnnotateAttr>()) {
      if (word_of(*attribute) == "host_name") {
        kernel.names.push_back(text_of(*attribute));
        if (kernel.names.back().empty()) {
          error(declaration.getLocation(), "'host_name' attribute of '%0' takes a text", declaration.getNameAsString());
        }
      }
      if (word_of(*attribute) == "max_total_threads_per_threadgroup") {
        kernel.max_total_threads = number_of(*attribute, context_);
      }
    }
    if (kernel.names.empty()) kernel.names.push_back(declaration.getQualifiedNameAsString());
    for (const std::string& name : kernel.names) {
      if (!names_.insert(name).second) {
        error(declaration.getLocation(), "there are two kernels with the name '%0'", name);
      }
    }
    for (const clang::ParmVarDecl* parameter : declaration.parameters()) {
      kernel.parameters.push_back(read_parameter(*parameter));
    }
    bind(kernel, declaration);
    found_.kernels.push_back(std::move(kernel));
  }

  std::string place_of(clang::SourceLocation where) const {
    const clang::SourceManager& sources = context_.getSourceManager();
    const clang::PresumedLoc place = sources.getPresumedLoc(sources.getExpansionLoc(where));
    if (place.isInvalid()) return "";
    const auto [file, offset] = sources.getDecomposedExpansionLoc(where);
    const llvm::StringRef text = sources.getBufferData(file);
    const std::size_t begin = offset - (place.getColumn() - 1);
    std::string caret = text.substr(begin, offset - begin).str();
    for (char& c : caret) c = c == '\t' ? '\t' : ' ';
    return std::string(place.getFilename()) + ":" + std::to_string(place.getLine()) + ":" +
           std::to_string(place.getColumn()) + "\n" + text.substr(begin).split('\n').first.str() + "\n" + caret + "^\n";
  }

  KernelParameter read_parameter(const clang::ParmVarDecl& declaration) {
    KernelParameter parameter;
    parameter.name = declaration.getNameAsString();
    const clang::QualType type = declaration.getType();
    if (type->isPointerType() || type->isReferenceType()) {
      for (const auto* attribute : declaration.specific_attrs<clang::AnnotateAttr>()) {
        if (air::builtin_named(word_of(*attribute))) refuse_type(declaration);
      }
      read_pointer(parameter, declaration, type->getPointeeType());
      return parameter;
    }
    const Numbers numbers = numbers_of(type);
    parameter.type_name = name_of(type);
    parameter.components = numbers.count;
    parameter.bits = static_cast<unsigned>(context_.getTypeSize(numbers.element));
    for (const auto* attribute : declaration.specific_attrs<clang::AnnotateAttr>()) {
      const auto kind = air::builtin_named(word_of(*attribute));
      if (!kind) continue;
      parameter.kind = *kind;
      const bool is_position = air::most_components(*kind) >= numbers.count;
      if (!numbers.element->isUnsignedIntegerType() || (parameter.bits != 16 && parameter.bits != 32) || !is_position) {
        refuse_type(declaration);
      }
      return parameter;
    }
    error(declaration.getLocation(),
          "invalid type %0 for input declaration in a kernel function: it is neither a pointer or a reference nor has "
          "an attribute that says what it is",
          "'" + parameter.type_name + "'");
    return parameter;
  }

  void refuse_type(const clang::ParmVarDecl& declaration) {
    error(declaration.getLocation(), "type '%0' is not valid for this attribute",
          support::in_words_of_metal(declaration.getType().getAsString(policy_)));
  }

  void read_pointer(KernelParameter& parameter, const clang::ParmVarDecl& declaration, clang::QualType pointee) {
    parameter.type_name = name_of(pointee);
    parameter.is_reference = declaration.getType()->isReferenceType();
    parameter.address_space = context_.getTargetAddressSpace(pointee.getAddressSpace());
    parameter.read_only = pointee.isConstQualified();
    if (!pointee->isVoidType() && !pointee->isIncompleteType()) {
      parameter.size = static_cast<std::size_t>(context_.getTypeSizeInChars(pointee).getQuantity());
      parameter.alignment = static_cast<std::size_t>(context_.getTypeAlignInChars(pointee).getQuantity());
    }
    if (parameter.size != 0) parameter.members = members_of(pointee);
    if (parameter.address_space == air::kThreadgroupSpace) parameter.kind = air::ArgumentKind::kThreadgroupBuffer;
    if (parameter.address_space == 0) {
      error(declaration.getLocation(), "pointer type must have explicit address space qualifier: parameter '%0'",
            parameter.name);
    }
  }

  // Of a struct of the program's, or an array as a class; vectors and the like are one value.
  std::vector<air::Member> members_of(clang::QualType type) const {
    const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
    if (record == nullptr || !record->hasDefinition() || record->isUnion()) return {};
    const bool is_ours = context_.getSourceManager().isInSystemHeader(record->getLocation());
    if (is_ours && record->getName() != "array") return {};
    const clang::ASTRecordLayout& layout = context_.getASTRecordLayout(record);
    std::vector<air::Member> members;
    for (const clang::FieldDecl* field : record->fields()) {
      if (field->isBitField()) return {};
      clang::QualType one = field->getType();
      air::Member member;
      member.offset = static_cast<std::size_t>(
          context_.toCharUnitsFromBits(layout.getFieldOffset(field->getFieldIndex())).getQuantity());
      while (const clang::ConstantArrayType* array = context_.getAsConstantArrayType(one)) {
        member.count =
            std::max<std::size_t>(member.count, 1) * static_cast<std::size_t>(array->getSize().getZExtValue());
        one = array->getElementType();
      }
      if (one->isIncompleteType()) return {};
      member.size = static_cast<std::size_t>(context_.getTypeSizeInChars(one).getQuantity());
      member.type_name = name_of(one);
      member.name = field->getNameAsString();
      member.members = members_of(one);
      members.push_back(std::move(member));
    }
    return members;
  }

  // Those without an index take the first that is free, in order.
  void bind(KernelDeclaration& kernel, const clang::FunctionDecl& declaration) {
    std::set<unsigned> buffers;
    std::set<unsigned> threadgroups;
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
      KernelParameter& parameter = kernel.parameters[i];
      if (!air::is_bound(parameter.kind)) continue;
      const bool threadgroup = parameter.kind == air::ArgumentKind::kThreadgroupBuffer;
      const clang::ParmVarDecl& parameter_declaration = *declaration.getParamDecl(static_cast<unsigned>(i));
      const auto* attribute = find(parameter_declaration, threadgroup ? "threadgroup" : "buffer");
      const auto index = attribute == nullptr ? std::nullopt : number_of(*attribute, context_);
      if (!index) {
        open.push_back(i);
        continue;
      }
      parameter.binding = *index;
      if (*index >= air::kMaxBindings) {
        error(parameter_declaration.getLocation(),
              "'buffer' attribute parameter is out of bounds: must be between 0 and %0",
              std::to_string(air::kMaxBindings - 1));
      } else if (!(threadgroup ? threadgroups : buffers).insert(*index).second) {
        error(parameter_declaration.getLocation(), "cannot reserve 'buffer' resource locations at index %0",
              std::to_string(*index));
      }
    }
    for (const std::size_t i : open) {
      KernelParameter& parameter = kernel.parameters[i];
      std::set<unsigned>& taken = parameter.kind == air::ArgumentKind::kThreadgroupBuffer ? threadgroups : buffers;
      while (taken.contains(parameter.binding)) ++parameter.binding;
      taken.insert(parameter.binding);
      if (parameter.binding >= air::kMaxBindings) {
        error(declaration.getParamDecl(static_cast<unsigned>(i))->getLocation(),
              "there are %0 places for buffers, and no more", std::to_string(air::kMaxBindings));
      }
    }
  }

  void read_constant(const llvm::GlobalVariable& global, const clang::VarDecl& declaration,
                     const clang::AnnotateAttr& attribute) {
    const auto id = number_of(attribute, context_);
    if (!id || *id > 65535) {
      error(declaration.getLocation(), "'function_constant' attribute of '%0' takes an index from 0 to 65535",
            declaration.getNameAsString());
      return;
    }
    found_.constants.push_back(
        {global.getName().str(), declaration.getNameAsString(), name_of(declaration.getType()), *id});
  }

  clang::CodeGenerator& generator_;
  clang::ASTContext& context_;
  llvm::Module& module_;
  clang::PrintingPolicy policy_;
  std::set<std::string> names_;
  Declarations found_;
};

}  // namespace

Declarations read_declarations(clang::CodeGenerator& generator, clang::ASTContext& context, llvm::Module& module) {
  return Reader(generator, context, module).read();
}

}  // namespace anymps::metal::frontend::sema
