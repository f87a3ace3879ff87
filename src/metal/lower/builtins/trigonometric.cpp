// sin, cos and tan as formulas: within 2 units in the last place (tan: 4), where Metal's specification allows 4 (6).
// What is left of x beside quarter turns is exact enough while |x| is not far from zero; beyond, there is a branch to
// the C library (vector_variants.h).
#include <llvm/IR/MDBuilder.h>

#include "metal/lower/builtins/formulas.h"
#include "metal/lower/builtins/vector_variants.h"

namespace anymps::metal::lower::builtins {
namespace {

// Of sin(r) = r + r^3 P(r^2) and cos(r) = 1 - r^2 / 2 + r^4 P(r^2) for |r| a little over pi / 4: least deviation,
// lowest power first.
constexpr double kSinOfRadians[] = {-0x1.555544p-3, 0x1.1106c6p-7, -0x1.991c26p-13};
constexpr double kCosOfRadians[] = {0x1.55554ap-5, -0x1.6c0c20p-10, 0x1.99e422p-16};

constexpr double kTwoByPi = 0x1.45f306p-1;
constexpr double kHalfPiRest = -0x1.ee59dap-50;  // what both parts of kHalfPi lack
constexpr double kFar = 0x1p17;

class TrigonometricWriter : public Formulas {
 public:
  TrigonometricWriter(llvm::IRBuilder<>& builder, llvm::Value* x)
      : Formulas(builder, x->getType()), x_(x), size_(size_of(x)) {
    llvm::Value* shifted = fma(size_, number(kTwoByPi), number(kShift));
    llvm::Value* n = rounded(shifted);
    // The last bit of kHalfPi.high is that of a number from 1 to 2, so that the first difference is exact.
    llvm::Value* r = fma(n, number(-kHalfPi.high), size_);
    r = fma(n, number(-kHalfPiRest), fma(n, number(-kHalfPi.low), r));
    llvm::Value* square = b_.CreateFMul(r, r);
    sine_ = odd(r, square, kSinOfRadians);
    cosine_ = fma(square, fma(square, polynomial(square, kCosOfRadians), number(-0.5)), number(1));
    quarters_ = bits_of(shifted);
    swapped_ = b_.CreateICmpNE(b_.CreateAnd(quarters_, integer(1)), integer(0));
  }

  llvm::Value* sin() {
    llvm::Value* result = b_.CreateSelect(swapped_, cosine_, sine_);
    return flipped(result, b_.CreateXor(sign_of(b_.CreateShl(quarters_, 30)), sign_of(bits_of(x_))));
  }
  llvm::Value* cos() {
    llvm::Value* result = b_.CreateSelect(swapped_, sine_, cosine_);
    return flipped(result, sign_of(b_.CreateShl(b_.CreateAdd(quarters_, integer(1)), 30)));
  }
  llvm::Value* tan() {
    llvm::Value* above = b_.CreateSelect(swapped_, b_.CreateFNeg(cosine_), sine_);
    llvm::Value* below = b_.CreateSelect(swapped_, sine_, cosine_);
    return flipped(b_.CreateFDiv(above, below), sign_of(bits_of(x_)));
  }

  llvm::Value* unless_far(llvm::Value* value, llvm::StringRef library) {
    llvm::BasicBlock* near = b_.GetInsertBlock();
    auto* far = llvm::BasicBlock::Create(b_.getContext(), "far", near->getParent());
    auto* done = llvm::BasicBlock::Create(b_.getContext(), "done", near->getParent());
    llvm::MDNode* seldom = llvm::MDBuilder(b_.getContext()).createUnlikelyBranchWeights();
    b_.CreateCondBr(b_.CreateFCmpOGT(size_, number(kFar)), far, done, seldom);
    b_.SetInsertPoint(far);
    llvm::Value* call = call_seldom(b_, library, x_);
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
    llvm::PHINode* result = b_.CreatePHI(type_, 2);
    result->addIncoming(value, near);
    result->addIncoming(call, far);
    return result;
  }

 private:
  llvm::Value* x_;
  llvm::Value* size_;
  llvm::Value* sine_ = nullptr;  // of what is left
  llvm::Value* cosine_ = nullptr;
  llvm::Value* quarters_ = nullptr;  // in the last two bits
  llvm::Value* swapped_ = nullptr;   // an odd number of quarter turns
};

}  // namespace

llvm::Value* write_trigonometric(llvm::IRBuilder<>& b, llvm::StringRef name, llvm::ArrayRef<llvm::Value*> arguments) {
  if (name != "sin" && name != "cos" && name != "tan") return nullptr;
  llvm::Value* x = arguments[0];
  // A branch is for one lane: vectors element by element.
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType())) {
    llvm::Value* result = llvm::PoisonValue::get(vector);
    for (unsigned i = 0; i < vector->getNumElements(); ++i) {
      result = b.CreateInsertElement(result, write_trigonometric(b, name, {b.CreateExtractElement(x, i)}), i);
    }
    return result;
  }
  TrigonometricWriter write(b, x);
  if (name == "sin") return write.unless_far(write.sin(), "anymps_far_sin");
  if (name == "cos") return write.unless_far(write.cos(), "anymps_far_cos");
  return write.unless_far(write.tan(), "anymps_far_tan");
}

}  // namespace anymps::metal::lower::builtins
