// A consumer between Clang's parser and its code generator, which lets nothing pass before the whole tree is there and
// was found good: a few lines can declare what would take the generator for ever.
#pragma once

#include <clang/AST/ASTConsumer.h>
#include <clang/AST/DeclGroup.h>

#include <functional>
#include <memory>
#include <vector>

namespace anymps::metal::frontend::sema {

class Gate final : public clang::ASTConsumer {
 public:
  // `is_good` is asked once.
  Gate(std::unique_ptr<clang::ASTConsumer> behind, std::function<bool(clang::ASTContext&)> is_good)
      : behind_(std::move(behind)), is_good_(std::move(is_good)) {}

  void Initialize(clang::ASTContext& context) override { behind_->Initialize(context); }
  bool HandleTopLevelDecl(clang::DeclGroupRef group) override {
    pass([this, group] { behind_->HandleTopLevelDecl(group); });
    return true;
  }
  void HandleCXXStaticMemberVarInstantiation(clang::VarDecl* variable) override {
    pass([this, variable] { behind_->HandleCXXStaticMemberVarInstantiation(variable); });
  }
  void HandleInlineFunctionDefinition(clang::FunctionDecl* function) override {
    pass([this, function] { behind_->HandleInlineFunctionDefinition(function); });
  }
  void CompleteTentativeDefinition(clang::VarDecl* variable) override {
    pass([this, variable] { behind_->CompleteTentativeDefinition(variable); });
  }
  void HandleTagDeclDefinition(clang::TagDecl* tag) override { behind_->HandleTagDeclDefinition(tag); }
  void HandleTagDeclRequiredDefinition(const clang::TagDecl* tag) override {
    behind_->HandleTagDeclRequiredDefinition(tag);
  }
  void HandleTranslationUnit(clang::ASTContext& context) override {
    open_ = true;
    if (is_good_(context)) {
      for (const auto& one : waiting_) one();
    }
    behind_->HandleTranslationUnit(context);
  }

 private:
  // Now, or once the gate is open.
  void pass(std::function<void()> one) {
    if (open_) return one();
    waiting_.push_back(std::move(one));
  }

  std::unique_ptr<clang::ASTConsumer> behind_;
  std::function<bool(clang::ASTContext&)> is_good_;
  std::vector<std::function<void()>> waiting_;
  bool open_ = false;
};

}  // namespace anymps::metal::frontend::sema
