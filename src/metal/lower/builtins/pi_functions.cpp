// sinpi, cospi and tanpi as formulas: within 1 unit in the last place (tanpi: 3), where Metal's specification allows 4
// (6). They are zero, one and infinite where they should be, as gamma functions rely on; zeros have the signs of IEEE
// 754.
#include "metal/lower/builtins/formulas.h"

namespace anymps::metal::lower::builtins {
namespace {

// Of sin(pi r) = pi r + r P(r^2), with the rounded pi, and cos(pi r) = 1 + r^2 P(r^2) for |r| <= 1/4: least deviation,
// lowest power first.
constexpr double kSinOfHalfTurns[] = {2 * kHalfPi.low, -0x1.4abbbep+2, 0x1.465faap+1, -0x1.2db500p-1};
constexpr double kCosOfHalfTurns[] = {-0x1.3bd3ccp+2, 0x1.03c1b0p+2, -0x1.55b2b6p+0, 0x1.d4f7eep-3};

class HalfTurnsWriter : public Formulas {
 public:
  HalfTurnsWriter(llvm::IRBuilder<>& builder, llvm::Value* x) : Formulas(builder, x->getType()), x_(x) {
    // All of this is exact: a turn is two, and r is what is left of it beside a quarter.
    llvm::Value* size = size_of(x);
    llvm::Value* turns = b_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, b_.CreateFMul(size, number(0.5)));
    within_ = fma(turns, number(-2), size);
    llvm::Value* shifted = fma(within_, number(2), number(kShift));
    llvm::Value* r = fma(rounded(shifted), number(-0.5), within_);
    llvm::Value* square = b_.CreateFMul(r, r);
    sine_ = size_of(fma(r, number(2 * kHalfPi.high), b_.CreateFMul(r, polynomial(square, kSinOfHalfTurns))));
    cosine_ = fma(square, polynomial(square, kCosOfHalfTurns), number(1));
    swapped_ = b_.CreateICmpNE(b_.CreateAnd(bits_of(shifted), integer(1)), integer(0));
  }

  llvm::Value* sinpi() {
    llvm::Value* result = b_.CreateSelect(swapped_, cosine_, sine_);
    result = b_.CreateSelect(b_.CreateFCmpOGT(within_, number(1)), b_.CreateFNeg(result), result);
    return flipped(result, sign_of(bits_of(x_)));
  }

  llvm::Value* cospi() {
    llvm::Value* result = b_.CreateSelect(swapped_, sine_, cosine_);
    llvm::Value* left = b_.CreateAnd(b_.CreateFCmpOGT(within_, number(0.5)), b_.CreateFCmpOLT(within_, number(1.5)));
    return b_.CreateSelect(left, b_.CreateFNeg(result), result);
  }

 private:
  llvm::Value* x_;
  llvm::Value* within_ = nullptr;  // |x| less whole turns
  llvm::Value* sine_ = nullptr;    // of what is left, without signs
  llvm::Value* cosine_ = nullptr;
  llvm::Value* swapped_ = nullptr;
};

}  // namespace

llvm::Value* write_half_turns(llvm::IRBuilder<>& b, llvm::StringRef name, llvm::ArrayRef<llvm::Value*> arguments) {
  if (name != "sinpi" && name != "cospi" && name != "tanpi") return nullptr;
  HalfTurnsWriter write(b, arguments[0]);
  if (name == "sinpi") return write.sinpi();
  if (name == "cospi") return write.cospi();
  return b.CreateFDiv(write.sinpi(), write.cospi());
}

}  // namespace anymps::metal::lower::builtins
