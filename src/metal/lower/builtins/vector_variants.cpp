#include "metal/lower/builtins/vector_variants.h"

#include <llvm/IR/Instructions.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/VFABIDemangler.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include "metal/lower/builtins/builtin_lowering.h"

namespace anymps::metal::lower::builtins {
namespace {

constexpr llvm::StringLiteral kSeldom = "anymps.seldom";
constexpr unsigned kWidths[] = {2, 4, 8, 16, 32, 64};

// Takes the numbers and who calls.
llvm::Function* declare_form(llvm::Function& scalar, unsigned width) {
  llvm::LLVMContext& context = scalar.getContext();
  auto* numbers = llvm::FixedVectorType::get(llvm::Type::getFloatTy(context), width);
  auto* mask = llvm::FixedVectorType::get(llvm::Type::getInt1Ty(context), width);
  auto* form = llvm::Function::Create(llvm::FunctionType::get(numbers, {numbers, mask}, false),
                                      llvm::GlobalValue::ExternalLinkage, scalar.getName() + "." + llvm::Twine(width),
                                      *scalar.getParent());
  form->setDoesNotThrow();
  form->setDoesNotAccessMemory();
  form->setWillReturn();
  return form;
}

// Those who call, one after the other.
void write_body(const VectorVariant& entry) {
  llvm::Function* form = entry.form;
  llvm::IRBuilder<> b(form->getContext());
  auto* start = llvm::BasicBlock::Create(b.getContext(), "start", form);
  auto* lane = llvm::BasicBlock::Create(b.getContext(), "lane", form);
  auto* done = llvm::BasicBlock::Create(b.getContext(), "done", form);
  llvm::Type* set = b.getIntNTy(llvm::cast<llvm::FixedVectorType>(form->getReturnType())->getNumElements());
  llvm::Value* nothing = llvm::Constant::getNullValue(form->getReturnType());
  b.SetInsertPoint(start);
  llvm::Value* all = b.CreateBitCast(form->getArg(1), set);
  llvm::MDNode* seldom = llvm::MDBuilder(b.getContext()).createUnlikelyBranchWeights();
  b.CreateCondBr(b.CreateIsNotNull(all), lane, done, seldom);

  b.SetInsertPoint(lane);
  llvm::PHINode* left = b.CreatePHI(set, 2);
  llvm::PHINode* results = b.CreatePHI(form->getReturnType(), 2);
  left->addIncoming(all, start);
  results->addIncoming(nothing, start);
  llvm::Value* index = b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, left, b.getTrue());
  llvm::Value* result = call_library(b, entry.scalar, {b.CreateExtractElement(form->getArg(0), index)});
  llvm::Value* more = b.CreateInsertElement(results, result, index);
  llvm::Value* rest = b.CreateAnd(left, b.CreateSub(left, llvm::ConstantInt::get(set, 1)));
  left->addIncoming(rest, lane);
  results->addIncoming(more, lane);
  b.CreateCondBr(b.CreateIsNotNull(rest), lane, done);

  b.SetInsertPoint(done);
  llvm::PHINode* returned = b.CreatePHI(form->getReturnType(), 2);
  returned->addIncoming(nothing, start);
  returned->addIncoming(more, lane);
  b.CreateRet(returned);
}

}  // namespace

llvm::Value* call_seldom(llvm::IRBuilder<>& b, llvm::StringRef name, llvm::Value* x) {
  llvm::CallInst* call = call_library(b, name, {x});
  call->getCalledFunction()->addFnAttr(kSeldom);
  return call;
}

std::vector<VectorVariant> declare_vector_variants(llvm::Module& module) {
  llvm::SmallVector<llvm::Function*> seldom;
  for (llvm::Function& function : module) {
    if (function.hasFnAttribute(kSeldom) && !function.use_empty()) seldom.push_back(&function);
  }
  std::vector<VectorVariant> forms;
  llvm::SmallVector<llvm::GlobalValue*> kept;
  for (llvm::Function* scalar : seldom) {
    llvm::SmallVector<std::string> variants;
    for (const unsigned width : kWidths) {
      llvm::Function* form = declare_form(*scalar, width);
      forms.push_back({.scalar = scalar->getName().str(), .form = form});
      kept.push_back(form);
      variants.push_back(
          ("_ZGV_LLVM_M" + llvm::Twine(width) + "v_" + scalar->getName() + "(" + form->getName() + ")").str());
    }
    for (llvm::User* user : scalar->users()) {
      llvm::VFABI::setVectorVariantNames(llvm::cast<llvm::CallInst>(user), variants);
    }
  }
  if (!kept.empty()) llvm::appendToCompilerUsed(module, kept);
  return forms;
}

void define_vector_variants(llvm::Module& module, const std::vector<VectorVariant>& forms) {
  const auto is_form = [&](const llvm::Constant* used) {
    return llvm::any_of(forms, [&](const VectorVariant& entry) { return entry.form == used; });
  };
  llvm::removeFromUsedLists(module, is_form);
  for (const VectorVariant& entry : forms) {
    entry.form->removeDeadConstantUsers();  // the list that it was in
    if (entry.form->use_empty()) {
      entry.form->eraseFromParent();
      continue;
    }
    write_body(entry);
    entry.form->setLinkage(llvm::GlobalValue::InternalLinkage);
    entry.form->addFnAttr(llvm::Attribute::AlwaysInline);
  }
}

}  // namespace anymps::metal::lower::builtins
