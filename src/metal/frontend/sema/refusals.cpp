#include "metal/frontend/sema/refusals.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/Basic/Diagnostic.h>
#include <clang/Basic/SourceManager.h>
#include <clang/CodeGen/ModuleBuilder.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <string>

#include "metal/air/external_references.h"
#include "metal/frontend/support/annotations.h"
#include "metal/frontend/support/diagnostics.h"
#include "metal/frontend/support/limits.h"

namespace anymps::metal::frontend::sema {
namespace {

using clang::LangAS;

template <unsigned N>
clang::DiagnosticBuilder error(const clang::ASTContext& context, clang::SourceLocation where, const char (&format)[N]) {
  clang::DiagnosticsEngine& diagnostics = context.getDiagnostics();
  return diagnostics.Report(where, diagnostics.getCustomDiagID(clang::DiagnosticsEngine::Error, format));
}

bool is_function_constant(const clang::VarDecl& variable) {
  for (const auto* attribute : variable.specific_attrs<clang::AnnotateAttr>()) {
    if (attribute->getAnnotation() == std::string(support::kAnnotationPrefix) + "function_constant") return true;
  }
  return false;
}

class Visitor final : public clang::RecursiveASTVisitor<Visitor> {
 public:
  explicit Visitor(clang::ASTContext& context) : context_(context), sources_(context.getSourceManager()) {}

  bool shouldVisitTemplateInstantiations() const { return true; }

  Calls take_calls() { return std::move(calls_); }

  bool VisitVarDecl(clang::VarDecl* variable) {
    const clang::QualType type = variable->getType();
    if (type->isDependentType() || variable->isInvalidDecl()) return true;
    const LangAS space = type.getAddressSpace();
    const std::string name = variable->getNameAsString();
    if (type->isVariablyModifiedType()) {
      error(context_, variable->getLocation(), "the size of '%0' has to be constant") << name;
      return true;
    }
    check_size(*variable, space);
    if (variable->isStaticDataMember() && space == LangAS::sycl_local) {
      error(context_, variable->getLocation(), "member '%0' cannot be in threadgroup memory") << name;
    }
    if (variable->isStaticLocal() && variable->hasInit() && !variable->getInit()->isValueDependent() &&
        !variable->getInit()->isConstantInitializer(context_, false)) {
      error(context_, variable->getLocation(), "the initial value of '%0' has to be constant") << name;
    }
    if (is_function_constant(*variable) && variable->hasInit()) {
      error(context_, variable->getLocation(), "function constant '%0' cannot have an initialiser") << name;
    }
    if (space != LangAS::Default || type.isConstant(context_) || type->isReferenceType()) return true;
    if (variable->isStaticLocal()) {
      error(context_, variable->getLocation(), "static variable '%0' has to be const or in threadgroup memory") << name;
    } else if (variable->hasGlobalStorage() && !variable->isStaticLocal()) {
      error(context_, variable->getLocation(), "program scope variable '%0' must reside in constant address space")
          << name;
    }
    return true;
  }

  bool VisitFunctionDecl(clang::FunctionDecl* function) {
    if (function->isVariadic() && !function->getBuiltinID()) {
      error(context_, function->getLocation(), "function '%0' with variable arguments is not supported in Metal")
          << function->getNameAsString();
    }
    return true;
  }

  // The code generator describes each member of what it copies.
  bool VisitCXXRecordDecl(clang::CXXRecordDecl* record) {
    if (!record->isCompleteDefinition() || record->isDependentType() || record->isInvalidDecl()) return true;
    if (members_of(*record) > support::kMostMembers) {
      error(context_, record->getLocation(), "'%0' has more than %1 members, those of its members among them")
          << record->getNameAsString() << static_cast<unsigned>(support::kMostMembers);
    }
    return true;
  }

  bool VisitAsmStmt(clang::AsmStmt* statement) {
    error(context_, statement->getAsmLoc(), "assembly is not supported in Metal");
    return true;
  }
  bool VisitFileScopeAsmDecl(clang::FileScopeAsmDecl* declaration) {
    error(context_, declaration->getAsmLoc(), "assembly is not supported in Metal");
    return true;
  }

  bool VisitCallExpr(clang::CallExpr* call) {
    const clang::FunctionDecl* callee = call->getDirectCallee();
    if (callee == nullptr) return true;
    calls_.try_emplace(callee->getCanonicalDecl(), call->getExprLoc());
    if (is_ours(*callee)) {
      for (const clang::Expr* argument : call->arguments()) exempt(argument);
    }
    // The object of a method: one method serves all address spaces.
    if (const auto* method = llvm::dyn_cast<clang::CXXMemberCallExpr>(call))
      exempt(method->getImplicitObjectArgument());
    if (llvm::isa<clang::CXXOperatorCallExpr>(call) && llvm::isa<clang::CXXMethodDecl>(callee)) exempt(call->getArg(0));
    return true;
  }
  bool VisitCXXConstructExpr(clang::CXXConstructExpr* construction) {
    const clang::CXXConstructorDecl* constructor = construction->getConstructor();
    if (!construction->isListInitialization()) refuse_short_vector(*construction);
    if (is_ours(*constructor) || constructor->isCopyOrMoveConstructor()) {
      for (const clang::Expr* argument : construction->arguments()) exempt(argument);
    }
    return true;
  }

  // The named spaces convert to the default one, which is `thread`, for the sake of methods and copies.
  bool VisitImplicitCastExpr(clang::ImplicitCastExpr* cast) {
    if (cast->getCastKind() != clang::CK_AddressSpaceConversion || exempt_.contains(cast)) return true;
    clang::QualType from = cast->getSubExpr()->getType();
    clang::QualType to = cast->getType();
    if (cast->isGLValue()) {
      if (to.isConstQualified()) return true;  // a reference to a copy
    } else {
      from = from->getPointeeType();
      to = to->getPointeeType();
    }
    if (from.isNull() || to.isNull()) return true;
    const bool from_constant = from.getAddressSpace() == LangAS::sycl_global_device;
    const bool refused = to.getAddressSpace() == LangAS::Default
                             ? from.getAddressSpace() != LangAS::Default
                             : from_constant && to.getAddressSpace() == LangAS::sycl_global;
    if (!refused) return true;
    const clang::LangOptions& language = context_.getLangOpts();
    const std::string target = (to.getAddressSpace() == LangAS::Default ? "thread " : "") + to.getAsString(language) +
                               (cast->isGLValue() ? " &" : " *");
    error(context_, cast->getExprLoc(), "cannot convert '%0' to '%1': the address spaces differ")
        << support::in_words_of_metal(from.getAsString(language) + (cast->isGLValue() ? " &" : " *"))
        << support::in_words_of_metal(target) << cast->getSourceRange();
    return true;
  }

 private:
  bool is_ours(const clang::Decl& declaration) const { return sources_.isInSystemHeader(declaration.getLocation()); }

  std::size_t members_of(const clang::CXXRecordDecl& record) {
    const auto [known, is_new] = members_.try_emplace(&record, 0);
    if (!is_new) return known->second;
    std::size_t count = 0;
    const auto add = [&](clang::QualType type) {
      const clang::CXXRecordDecl* inner = type->getBaseElementTypeUnsafe()->getAsCXXRecordDecl();
      const bool counts = inner != nullptr && inner->hasDefinition() && !inner->isInvalidDecl();
      count = std::min(count + 1 + (counts ? members_of(*inner->getDefinition()) : 0), support::kMostMembers + 1);
    };
    for (const clang::CXXBaseSpecifier& base : record.bases()) add(base.getType());
    for (const clang::FieldDecl* field : record.fields()) add(field->getType());
    return members_[&record] = count;
  }

  void exempt(const clang::Expr* expression) {
    while (const auto* cast = llvm::dyn_cast_or_null<clang::ImplicitCastExpr>(expression)) {
      exempt_.insert(cast);
      expression = cast->getSubExpr();
    }
  }

  // float4(1, 2, 3). Between braces zeros would follow.
  void refuse_short_vector(const clang::CXXConstructExpr& construction) {
    const auto* vector =
        llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(construction.getConstructor()->getParent());
    if (vector == nullptr || vector->getName() != "vec" || !is_ours(*vector)) return;
    const unsigned given = construction.getNumArgs();
    if (given < 2 || vector->getTemplateArgs()[1].getAsIntegral().getLimitedValue() <= given) return;
    for (const clang::ParmVarDecl* parameter : construction.getConstructor()->parameters()) {
      if (parameter->getType()->isRecordType()) return;  // other vectors, which have more than one component
    }
    error(context_, construction.getBeginLoc(), "too few components to construct a vector of %0")
        << vector->getTemplateArgs()[1].getAsIntegral().getLimitedValue();
  }

  void check_size(const clang::VarDecl& variable, LangAS space) {
    const clang::QualType type = variable.getType();
    if (type->isIncompleteType() || type->isReferenceType()) return;
    const auto bytes = static_cast<std::size_t>(context_.getTypeSizeInChars(type).getQuantity());
    const bool shared = space == LangAS::sycl_local;
    const std::size_t most = shared                        ? support::kMostThreadgroupBytes
                             : variable.hasGlobalStorage() ? support::kMostConstantBytes
                                                           : support::kMostThreadBytes;
    if (bytes <= most) return;
    error(context_, variable.getLocation(), "'%0' takes %1 bytes; the most is %2")
        << variable.getNameAsString() << std::to_string(bytes) << std::to_string(most);
  }

  clang::ASTContext& context_;
  const clang::SourceManager& sources_;
  llvm::SmallPtrSet<const clang::ImplicitCastExpr*, 32> exempt_;
  std::map<const clang::CXXRecordDecl*, std::size_t> members_;
  Calls calls_;
};

template <typename Declaration>
const Declaration* declaration_of(clang::CodeGenerator& generator, const llvm::GlobalValue& value) {
  return llvm::dyn_cast_or_null<Declaration>(generator.GetDeclForMangledName(value.getName()));
}

}  // namespace

Calls refuse_declarations(clang::ASTContext& context) {
  Visitor visitor(context);
  for (clang::Decl* declaration : context.getTranslationUnitDecl()->noload_decls()) {
    if (!declaration->isFromASTFile() && !declaration->isImplicit()) visitor.TraverseDecl(declaration);
  }
  return visitor.take_calls();
}

void refuse_undefined(clang::CodeGenerator& generator, clang::ASTContext& context, llvm::Module& module,
                      const Calls& calls) {
  const clang::SourceManager& sources = context.getSourceManager();
  for (const llvm::GlobalVariable& variable : module.globals()) {
    const auto* declaration = declaration_of<clang::VarDecl>(generator, variable);
    if (declaration == nullptr || !variable.isDeclaration() || variable.use_empty()) continue;
    if (is_function_constant(*declaration)) continue;
    if (declaration->hasDefinition(context) != clang::VarDecl::DeclarationOnly) continue;
    error(context, declaration->getLocation(), "undefined symbol: variable '%0' has no definition")
        << declaration->getQualifiedNameAsString();
  }
  for (const llvm::Function& function : module) {
    const bool is_known = function.isIntrinsic() || air::is_external_function(function.getName());
    if (!function.isDeclaration() || is_known || function.use_empty()) continue;
    const auto* declaration = declaration_of<clang::FunctionDecl>(generator, function);
    if (declaration == nullptr || declaration->isDefined() || sources.isInSystemHeader(declaration->getLocation())) {
      continue;
    }
    const auto call = calls.find(declaration->getCanonicalDecl());
    error(context, call == calls.end() ? declaration->getLocation() : call->second,
          "undefined symbol: function '%0' has no definition")
        << declaration->getQualifiedNameAsString();
  }
}

}  // namespace anymps::metal::frontend::sema
