// What the formulas for Metal's functions are written with, and the list of their families. A formula has neither a
// branch nor a call (but for one in trigonometric.cpp), so that LLVM can vectorise the loop around it, and gives a
// thread the same result on every route. tests/metal/elementary_test.cpp knows how exact they are.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>

#include <cstdint>

namespace anymps::metal::lower::builtins {

// Each takes floats or vectors of them. Null for a function that is not of the family.
llvm::Value* write_exponential(llvm::IRBuilder<>& b, llvm::StringRef name, llvm::ArrayRef<llvm::Value*> arguments);
llvm::Value* write_hyperbolic(llvm::IRBuilder<>& b, llvm::StringRef name, llvm::ArrayRef<llvm::Value*> arguments);
llvm::Value* write_trigonometric(llvm::IRBuilder<>& b, llvm::StringRef name, llvm::ArrayRef<llvm::Value*> arguments);
llvm::Value* write_half_turns(llvm::IRBuilder<>& b, llvm::StringRef name, llvm::ArrayRef<llvm::Value*> arguments);
llvm::Value* write_arc(llvm::IRBuilder<>& b, llvm::StringRef name, llvm::ArrayRef<llvm::Value*> arguments);
llvm::Value* write_power(llvm::IRBuilder<>& b, llvm::StringRef name, llvm::ArrayRef<llvm::Value*> arguments);

// A constant in two parts, of which the first is rounded.
struct Split {
  double high;
  double low;
};
inline constexpr Split kHalfPi = {0x1.921fb6p+0, -0x1.777a5cp-25};

// Numbers of one type, a float or a vector of them.
class Formulas {
 public:
  Formulas(llvm::IRBuilder<>& builder, llvm::Type* type)
      : b_(builder), type_(type), bits_(type->getWithNewType(builder.getInt32Ty())) {}

 protected:
  llvm::Value* number(double value) { return llvm::ConstantFP::get(type_, value); }
  llvm::Value* integer(std::uint32_t value) { return llvm::ConstantInt::get(bits_, value); }
  llvm::Value* infinity() { return llvm::ConstantFP::getInfinity(type_); }
  llvm::Value* nan() { return llvm::ConstantFP::getNaN(type_); }
  llvm::Value* bits_of(llvm::Value* x) { return b_.CreateBitCast(x, bits_); }
  llvm::Value* number_of(llvm::Value* bits) { return b_.CreateBitCast(bits, type_); }

  llvm::Value* fma(llvm::Value* x, llvm::Value* y, llvm::Value* z) {
    return b_.CreateIntrinsic(llvm::Intrinsic::fma, {type_}, {x, y, z});
  }
  // z - x * y
  llvm::Value* less(llvm::Value* z, llvm::Value* x, llvm::Value* y) { return fma(b_.CreateFNeg(x), y, z); }
  llvm::Value* polynomial(llvm::Value* x, llvm::ArrayRef<double> coefficients) {
    llvm::Value* sum = number(coefficients.back());
    for (const double c : llvm::reverse(coefficients.drop_back())) sum = fma(sum, x, number(c));
    return sum;
  }
  // x + x^3 P(x^2), given x^2.
  llvm::Value* odd(llvm::Value* x, llvm::Value* square, llvm::ArrayRef<double> coefficients) {
    return fma(b_.CreateFMul(x, square), polynomial(square, coefficients), x);
  }
  llvm::Value* root(llvm::Value* x) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x); }
  llvm::Value* size_of(llvm::Value* x) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x); }
  llvm::Value* with_sign(llvm::Value* size, llvm::Value* sign) {
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, size, sign);
  }
  // Only the bit of the sign.
  llvm::Value* sign_of(llvm::Value* bits) { return b_.CreateAnd(bits, integer(0x80000000)); }
  llvm::Value* flipped(llvm::Value* x, llvm::Value* sign) { return number_of(b_.CreateXor(bits_of(x), sign)); }
  // Keeps NaN, which minnum and maxnum would not.
  llvm::Value* clamped(llvm::Value* x, double low, double high) {
    x = b_.CreateSelect(b_.CreateFCmpOLT(x, number(low)), number(low), x);
    return b_.CreateSelect(b_.CreateFCmpOGT(x, number(high)), number(high), x);
  }

  // `shifted` is a number with 1.5 * 2^23 added: its low bits are the rounded number.
  static constexpr double kShift = 0x1.8p23;
  static constexpr std::uint32_t kShiftBits = 0x4B400000;
  llvm::Value* rounded(llvm::Value* shifted) { return b_.CreateFSub(shifted, number(kShift)); }
  llvm::Value* whole(llvm::Value* shifted) { return b_.CreateSub(bits_of(shifted), integer(kShiftBits)); }

  // 2^n for a whole n of -126 to 127.
  llvm::Value* power_of_two(llvm::Value* n) { return number_of(b_.CreateShl(b_.CreateAdd(n, integer(127)), 23)); }

  llvm::IRBuilder<>& b_;
  llvm::Type* type_;
  llvm::Type* bits_;
};

// Parts of exponentials and logarithms.
class Exponentials : public Formulas {
 public:
  using Formulas::Formulas;

  // e^x / 2^lower, also where e^x is too large for a float.
  llvm::Value* exp(llvm::Value* x, std::uint32_t lower = 0);
  llvm::Value* exp2(llvm::Value* x);
  llvm::Value* exp10(llvm::Value* x);
  llvm::Value* logarithm(llvm::StringRef name, llvm::Value* x);

 protected:
  // value * 2^n, in two steps, since 2^n alone may be out of range.
  llvm::Value* scaled(llvm::Value* value, llvm::Value* n);
  // 2^r for |r| <= 1/2.
  llvm::Value* exp2_of_rest(llvm::Value* r);

  // x = fraction * 2^exponent with the fraction in [sqrt(1/2), sqrt(2)), for x > 0.
  struct Parts {
    llvm::Value* fraction;
    llvm::Value* exponent;
  };
  Parts apart(llvm::Value* x);
  static constexpr std::uint32_t kRootOfHalf = 0x3F3504F3;

  // ln((1 + f) 2^e) for 1 + f in [sqrt(1/2), sqrt(2)).
  llvm::Value* log(llvm::Value* f, llvm::Value* e);

 private:
  llvm::Value* exp_of_rest(llvm::Value* r);
  // ln(1 + f), and with an `e` also the low part of e ln(2).
  llvm::Value* log_near_one(llvm::Value* f, llvm::Value* e = nullptr);
};

}  // namespace anymps::metal::lower::builtins
