// sinh, cosh, tanh and their inverses as formulas: within 2 units in the last place (atanh: 2.1), where Metal's
// specification allows 4 (atanh and tanh: 5).
#include "metal/lower/builtins/formulas.h"

namespace anymps::metal::lower::builtins {
namespace {

// Of sinh(x) = x + x^3 P(x^2) for |x| <= 1 and tanh(x) = x + x^3 P(x^2) for |x| <= 5/8: least deviation, lowest power
// first.
constexpr double kSinh[] = {0x1.555556p-3, 0x1.1110e0p-7, 0x1.a022bcp-13, 0x1.756c1ep-19};
constexpr double kTanh[] = {-0x1.555556p-2, 0x1.1110ecp-3,  -0x1.ba0960p-5,
                            0x1.64b22cp-6,  -0x1.119cf0p-7, 0x1.2d53a2p-9};

class HyperbolicWriter : public Exponentials {
 public:
  using Exponentials::Exponentials;

  llvm::Value* sinh(llvm::Value* x) {
    llvm::Value* size = size_of(x);
    llvm::Value* near_zero = odd(size, b_.CreateFMul(size, size), kSinh);
    const auto [grows, fades] = halves(size);
    llvm::Value* near = b_.CreateFCmpOLT(size, number(1));
    return with_sign(b_.CreateSelect(near, near_zero, b_.CreateFSub(grows, fades)), x);
  }

  llvm::Value* cosh(llvm::Value* x) {
    const auto [grows, fades] = halves(size_of(x));
    return b_.CreateFAdd(grows, fades);
  }

  llvm::Value* tanh(llvm::Value* x) {
    llvm::Value* size = size_of(x);
    llvm::Value* near_zero = odd(size, b_.CreateFMul(size, size), kTanh);
    llvm::Value* power = exp(clamped(b_.CreateFAdd(size, size), 0, 20));
    llvm::Value* far = b_.CreateFSub(number(1), b_.CreateFDiv(number(2), b_.CreateFAdd(power, number(1))));
    return with_sign(b_.CreateSelect(b_.CreateFCmpOLT(size, number(0.625)), near_zero, far), x);
  }

  // ln(1 + a) with a = x - 1 + sqrt(x^2 + 1), written so that nothing of a small x is lost.
  llvm::Value* asinh(llvm::Value* x) {
    llvm::Value* size = size_of(x);
    llvm::Value* square = b_.CreateFMul(size, size);
    llvm::Value* below = b_.CreateFAdd(root(b_.CreateFAdd(square, number(1))), number(1));
    llvm::Value* a = b_.CreateFAdd(size, b_.CreateFDiv(square, below));
    return with_sign(log_of_sum(size, a), x);
  }

  // ln(1 + a) with a = t + sqrt(t^2 + 2t), t = x - 1.
  llvm::Value* acosh(llvm::Value* x) {
    llvm::Value* t = b_.CreateFSub(x, number(1));
    llvm::Value* a = b_.CreateFAdd(t, root(fma(t, t, b_.CreateFAdd(t, t))));
    return b_.CreateSelect(b_.CreateFCmpOLT(x, number(1)), nan(), log_of_sum(x, a));
  }

  // ln(1 + 2x / (1 - x)) / 2
  llvm::Value* atanh(llvm::Value* x) {
    llvm::Value* size = size_of(x);
    llvm::Value* a = b_.CreateFDiv(b_.CreateFAdd(size, size), b_.CreateFSub(number(1), size));
    llvm::Value* inside = b_.CreateFMul(log_of_one_more(a, number(0)), number(0.5));
    llvm::Value* outside = b_.CreateSelect(b_.CreateFCmpOEQ(size, number(1)), infinity(), nan());
    return with_sign(b_.CreateSelect(b_.CreateFCmpOLT(size, number(1)), inside, outside), x);
  }

 private:
  struct Halves {
    llvm::Value* grows;  // e^size / 2
    llvm::Value* fades;  // e^-size / 2
  };
  Halves halves(llvm::Value* size) {
    llvm::Value* grows = exp(size, /*lower=*/1);
    return {.grows = grows, .fades = b_.CreateFDiv(number(0.25), grows)};
  }

  // ln(1 + a) + more ln(2), for 0 <= a < 2^126: what is lost of 1 + a tells the exponent only.
  llvm::Value* log_of_one_more(llvm::Value* a, llvm::Value* more) {
    llvm::Value* sum = bits_of(b_.CreateFAdd(a, number(1)));
    llvm::Value* e = b_.CreateAShr(b_.CreateSub(sum, integer(kRootOfHalf)), 23);
    llvm::Value* scale = power_of_two(b_.CreateNeg(e));
    llvm::Value* f = fma(a, scale, b_.CreateFSub(scale, number(1)));
    return log(f, b_.CreateFAdd(b_.CreateSIToFP(e, type_), more));
  }

  // ln(1 + a), which is ln(2x) where x is so large that a might overflow.
  llvm::Value* log_of_sum(llvm::Value* x, llvm::Value* a) {
    llvm::Value* large = b_.CreateFCmpOGT(x, number(0x1p30));
    a = b_.CreateSelect(large, b_.CreateFMul(x, number(0.25)), a);
    llvm::Value* result = log_of_one_more(a, b_.CreateSelect(large, number(3), number(0)));
    // Infinity and NaN are no numbers to take apart.
    return b_.CreateSelect(b_.CreateFCmpOLT(x, infinity()), result, x);
  }
};

}  // namespace

llvm::Value* write_hyperbolic(llvm::IRBuilder<>& b, llvm::StringRef name, llvm::ArrayRef<llvm::Value*> arguments) {
  llvm::Value* x = arguments[0];
  HyperbolicWriter write(b, x->getType());
  if (name == "sinh") return write.sinh(x);
  if (name == "cosh") return write.cosh(x);
  if (name == "tanh") return write.tanh(x);
  if (name == "asinh") return write.asinh(x);
  if (name == "acosh") return write.acosh(x);
  if (name == "atanh") return write.atanh(x);
  return nullptr;
}

}  // namespace anymps::metal::lower::builtins
