#include "metal/frontend/sema/fp_contract.h"

#include <clang/AST/DeclTemplate.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/CodeGen/ModuleBuilder.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <map>
#include <optional>
#include <vector>

namespace anymps::metal::frontend::sema {
namespace {

struct Operator {
  clang::OverloadedOperatorKind kind = clang::OO_None;  // OO_None: of no interest
  unsigned operands = 0;
  unsigned elements = 0;

  bool is(clang::OverloadedOperatorKind other, unsigned count) const { return kind == other && operands == count; }
};

// What the function is among the operators of metal::vec with floating point elements.
Operator operator_of(const clang::FunctionDecl& function) {
  const auto* record = llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(function.getLexicalDeclContext());
  if (record == nullptr || record->getQualifiedNameAsString() != "metal::vec") return {};
  const clang::TemplateArgumentList& arguments = record->getTemplateArgs();
  if (!arguments[0].getAsType()->isFloatingType()) return {};
  return {.kind = function.getOverloadedOperator(),
          .operands = function.getNumParams() + (llvm::isa<clang::CXXMethodDecl>(function) ? 1U : 0U),
          .elements = static_cast<unsigned>(arguments[1].getAsIntegral().getZExtValue())};
}

class ContractionOff final : public clang::RecursiveASTVisitor<ContractionOff> {
 public:
  explicit ContractionOff(const clang::LangOptions& options) : options_(options) {}
  bool VisitCompoundStmt(clang::CompoundStmt* statement) {  // NOLINT(readability-identifier-naming): the base calls it
    if (!statement->hasStoredFPFeatures()) return true;
    return statement->getStoredFPFeatures().applyOverrides(options_).allowFPContractWithinStatement();
  }

 private:
  const clang::LangOptions& options_;
};

class Contraction {
 public:
  explicit Contraction(clang::CodeGenerator& generator) : generator_(generator) {}

  void run(llvm::Function& function) {
    std::vector<llvm::CallInst*> sums;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (call != nullptr && is_sum(operator_of(*call))) sums.push_back(call);
    }
    if (sums.empty() || !is_allowed(function)) return;
    const llvm::DominatorTree order(function);
    for (llvm::CallInst* sum : sums) contract(*sum, order);
  }

 private:
  struct Product {
    llvm::CallInst* call;
    llvm::CallInst* negation;  // or nullptr
  };

  static bool is_sum(const Operator& op) {
    return op.operands == 2 && (op.kind == clang::OO_Plus || op.kind == clang::OO_Minus || is_assignment(op));
  }
  static bool is_assignment(const Operator& op) {
    return op.kind == clang::OO_PlusEqual || op.kind == clang::OO_MinusEqual;
  }

  Operator operator_of(const llvm::CallInst& call) {
    const llvm::Function* callee = call.getCalledFunction();
    if (callee == nullptr || callee->isIntrinsic()) return {};
    const auto [found, is_new] = operators_.try_emplace(callee);
    if (is_new) {
      const auto* decl =
          llvm::dyn_cast_or_null<clang::FunctionDecl>(generator_.GetDeclForMangledName(callee->getName()));
      if (decl != nullptr) found->second = sema::operator_of(*decl);
    }
    return found->second;
  }

  // A function with `#pragma METAL fp contract(off)` anywhere is left alone.
  bool is_allowed(const llvm::Function& function) {
    const auto* decl =
        llvm::dyn_cast_or_null<clang::FunctionDecl>(generator_.GetDeclForMangledName(function.getName()));
    if (decl == nullptr || !decl->hasBody()) return true;
    return ContractionOff(decl->getASTContext().getLangOpts()).TraverseStmt(decl->getBody());
  }

  // The call that makes the value of a temporary that `reader` alone reads: of a variable there would be a copy.
  static llvm::CallInst* maker_of(llvm::Value* temporary, const llvm::CallInst& reader) {
    if (!llvm::isa<llvm::AllocaInst>(temporary)) return nullptr;
    llvm::CallInst* maker = nullptr;
    for (llvm::User* user : temporary->users()) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(user);
      if (call == nullptr) return nullptr;
      if (call == &reader || call->isLifetimeStartOrEnd()) continue;
      if (maker != nullptr || !call->hasStructRetAttr() || call->getArgOperand(0) != temporary) return nullptr;
      maker = call;
    }
    return maker;
  }

  // The product, negated or not, that is in the temporary and nowhere else.
  std::optional<Product> product_in(llvm::Value* temporary, const llvm::CallInst& reader) {
    llvm::CallInst* maker = maker_of(temporary, reader);
    if (maker == nullptr) return std::nullopt;
    if (operator_of(*maker).is(clang::OO_Star, 2)) return Product{maker, nullptr};
    if (!operator_of(*maker).is(clang::OO_Minus, 1)) return std::nullopt;
    llvm::CallInst* inner = maker_of(maker->getArgOperand(1), *maker);
    if (inner == nullptr || !operator_of(*inner).is(clang::OO_Star, 2)) return std::nullopt;
    return Product{inner, maker};
  }

  static std::vector<llvm::Value*> load(llvm::IRBuilder<>& b, llvm::Type* type, llvm::Value* vec, unsigned elements) {
    std::vector<llvm::Value*> loaded;
    for (unsigned i = 0; i < elements; ++i) {
      loaded.push_back(b.CreateLoad(type->getStructElementType(i), b.CreateStructGEP(type, vec, i)));
    }
    return loaded;
  }

  void contract(llvm::CallInst& sum, const llvm::DominatorTree& order) {
    const Operator op = operator_of(sum);
    const bool assigns = is_assignment(op);
    const bool subtracts = op.kind == clang::OO_Minus || op.kind == clang::OO_MinusEqual;
    // Of an assignment: the object and what is added. Of the others: where the result goes, and both operands.
    llvm::Value* left = sum.getArgOperand(assigns ? 0 : 1);
    llvm::Value* right = sum.getArgOperand(assigns ? 1 : 2);
    llvm::Value* into = sum.getArgOperand(0);

    std::optional<Product> product;
    if (!assigns) product = product_in(left, sum);
    const bool is_left = product.has_value();
    if (!product) product = product_in(right, sum);
    if (!product || !order.dominates(product->call, &sum)) return;
    const bool negates_product = (product->negation != nullptr) != (subtracts && !is_left);
    const bool negates_addend = subtracts && is_left;

    llvm::Type* type = product->call->getParamStructRetType(0);
    llvm::IRBuilder<> b(product->call);
    const auto first = load(b, type, product->call->getArgOperand(1), op.elements);
    const auto second = load(b, type, product->call->getArgOperand(2), op.elements);
    b.SetInsertPoint(&sum);
    const auto addend = load(b, type, is_left ? right : left, op.elements);
    for (unsigned i = 0; i < op.elements; ++i) {
      llvm::Value* a = negates_product ? b.CreateFNeg(first[i]) : first[i];
      llvm::Value* c = negates_addend ? b.CreateFNeg(addend[i]) : addend[i];
      llvm::Value* made = b.CreateIntrinsic(llvm::Intrinsic::fmuladd, {a->getType()}, {a, second[i], c});
      b.CreateStore(made, b.CreateStructGEP(type, into, i));
    }
    if (assigns) sum.replaceAllUsesWith(into);
    sum.eraseFromParent();
    if (product->negation != nullptr) product->negation->eraseFromParent();
    product->call->eraseFromParent();
  }

  clang::CodeGenerator& generator_;
  std::map<const llvm::Function*, Operator> operators_;
};

}  // namespace

void contract_vectors(clang::CodeGenerator& generator) {
  Contraction contraction(generator);
  for (llvm::Function& function : *generator.GetModule()) {
    if (!function.isDeclaration()) contraction.run(function);
  }
}

}  // namespace anymps::metal::frontend::sema
