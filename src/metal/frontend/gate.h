// A consumer between Clang's parser and its code generator, which lets nothing pass before the whole tree is there and
// was found good: a few lines can declare what would take the generator for ever.
#pragma once

#include <clang/AST/ASTConsumer.h>
#include <clang/AST/DeclGroup.h>

#include <functional>
#include <memory>
#include <vector>

namespace anymps::metal::frontend {

class Gate final : public clang::ASTConsumer {
 public:
  // `is_good` is asked once.
  Gate(std::unique_ptr<clang::ASTConsumer> behind, std::function<bool(clang::ASTContext&)> is_good)
      : behind_(std::move(behind)), is_good_(std::move(is_good)) {}

  void Initialize(clang::ASTContext& context) override { behind_->Initialize(context); }
  bool HandleTopLevelDecl(clang::DeclGroupRef group) override {
    if (open_) return behind_->HandleTopLevelDecl(group);
    waiting_.push_back([this, group] { behind_->HandleTopLevelDecl(group); });
    return true;
  }
  void HandleCXXStaticMemberVarInstantiation(clang::VarDecl* variable) override {
    if (open_) return behind_->HandleCXXStaticMemberVarInstantiation(variable);
    waiting_.push_back([this, variable] { behind_->HandleCXXStaticMemberVarInstantiation(variable); });
  }
  void HandleInlineFunctionDefinition(clang::FunctionDecl* function) override {
    if (open_) return behind_->HandleInlineFunctionDefinition(function);
    waiting_.push_back([this, function] { behind_->HandleInlineFunctionDefinition(function); });
  }
  void CompleteTentativeDefinition(clang::VarDecl* variable) override {
    if (open_) return behind_->CompleteTentativeDefinition(variable);
    waiting_.push_back([this, variable] { behind_->CompleteTentativeDefinition(variable); });
  }
  void HandleTagDeclDefinition(clang::TagDecl* tag) override { behind_->HandleTagDeclDefinition(tag); }
  void HandleTagDeclRequiredDefinition(const clang::TagDecl* tag) override {
    behind_->HandleTagDeclRequiredDefinition(tag);
  }
  void HandleTranslationUnit(clang::ASTContext& context) override {
    open_ = true;
    if (is_good_(context)) {
      for (const auto& pass : waiting_) pass();
    }
    behind_->HandleTranslationUnit(context);
  }

 private:
  std::unique_ptr<clang::ASTConsumer> behind_;
  std::function<bool(clang::ASTContext&)> is_good_;
  std::vector<std::function<void()>> waiting_;
  bool open_ = false;
};

}  // namespace anymps::metal::frontend
