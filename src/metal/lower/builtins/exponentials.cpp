// exp, exp2, exp10, log, log2 and log10 as formulas: within 2 units in the last place, where Metal's specification
// allows 4.
#include "metal/lower/builtins/formulas.h"

namespace anymps::metal::lower::builtins {
namespace {

// Of exp(r) = 1 + r + r^2 P(r) for |r| <= ln(2) / 2, 2^r = 1 + r P(r) for |r| <= 1/2, and ln(1 + f) = f - f^2 / 2 + f^3
// P(f) for 1 + f in [sqrt(1/2), sqrt(2)]: least deviation, lowest power first.
constexpr double kExp[] = {0x1.000000p-1, 0x1.555556p-3, 0x1.5554eap-5, 0x1.1110acp-7, 0x1.6d4318p-10, 0x1.a17df4p-13};
constexpr double kExp2[] = {0x1.62e430p-1,  0x1.ebfbe0p-3,  0x1.c6b08ep-5, 0x1.3b2a1cp-7,
                            0x1.5d874cp-10, 0x1.444004p-13, 0x1.00dc4ap-16};
constexpr double kLog[] = {0x1.555554p-2,  -0x1.ffffe6p-3, 0x1.999d36p-3,  -0x1.55625cp-3, 0x1.23dd18p-3,
                           -0x1.fbc4e6p-4, 0x1.dc8e6ep-4,  -0x1.dd96c8p-4, 0x1.2c562ep-4};

constexpr Split kLn2 = {0x1.62e430p-1, -0x1.05c610p-29};
constexpr Split kLn2Short = {0x1.62e400p-1, 0x1.7f7d1cp-20};  // times an exponent, the first is exact
constexpr Split kLog10Of2 = {0x1.344136p-2, -0x1.ec10c0p-27};
constexpr double kLog2OfE = 0x1.715476p+0;
constexpr double kLog2Of10 = 0x1.a934f0p+1;
constexpr double kLog10OfE = 0x1.bcb7b2p-2;
constexpr double kLn10 = 0x1.26bb1cp+1;

}  // namespace

llvm::Value* Exponentials::scaled(llvm::Value* value, llvm::Value* n) {
  llvm::Value* half = b_.CreateAShr(n, 1);
  return b_.CreateFMul(b_.CreateFMul(value, power_of_two(half)), power_of_two(b_.CreateSub(n, half)));
}

llvm::Value* Exponentials::exp_of_rest(llvm::Value* r) {
  return fma(r, fma(r, polynomial(r, kExp), number(1)), number(1));
}

llvm::Value* Exponentials::exp2_of_rest(llvm::Value* r) { return fma(r, polynomial(r, kExp2), number(1)); }

llvm::Value* Exponentials::exp(llvm::Value* x, std::uint32_t lower) {
  x = clamped(x, -104, 89 + lower);
  llvm::Value* shifted = fma(x, number(kLog2OfE), number(kShift));
  llvm::Value* n = rounded(shifted);
  llvm::Value* r = fma(n, number(-kLn2.low), fma(n, number(-kLn2.high), x));
  return scaled(exp_of_rest(r), b_.CreateSub(bits_of(shifted), integer(kShiftBits + lower)));
}

llvm::Value* Exponentials::exp2(llvm::Value* x) {
  x = clamped(x, -151, 129);
  llvm::Value* shifted = b_.CreateFAdd(x, number(kShift));
  return scaled(exp2_of_rest(b_.CreateFSub(x, rounded(shifted))), whole(shifted));
}

llvm::Value* Exponentials::exp10(llvm::Value* x) {
  x = clamped(x, -46, 39);
  llvm::Value* shifted = fma(x, number(kLog2Of10), number(kShift));
  llvm::Value* n = rounded(shifted);
  llvm::Value* r = fma(n, number(-kLog10Of2.low), fma(n, number(-kLog10Of2.high), x));
  return scaled(exp_of_rest(b_.CreateFMul(r, number(kLn10))), whole(shifted));
}

Exponentials::Parts Exponentials::apart(llvm::Value* x) {
  llvm::Value* small = b_.CreateFCmpOLT(x, number(0x1p-126));
  llvm::Value* bits = bits_of(b_.CreateSelect(small, b_.CreateFMul(x, number(0x1p23)), x));
  llvm::Value* exponent = b_.CreateAShr(b_.CreateSub(bits, integer(kRootOfHalf)), 23);
  llvm::Value* e = b_.CreateSIToFP(exponent, type_);
  return {.fraction = number_of(b_.CreateSub(bits, b_.CreateShl(exponent, 23))),
          .exponent = b_.CreateSelect(small, b_.CreateFSub(e, number(23)), e)};
}

llvm::Value* Exponentials::log_near_one(llvm::Value* f, llvm::Value* e) {
  llvm::Value* square = b_.CreateFMul(f, f);
  llvm::Value* rest = b_.CreateFMul(b_.CreateFMul(square, f), polynomial(f, kLog));
  if (e != nullptr) rest = fma(e, number(kLn2Short.low), rest);
  return b_.CreateFAdd(f, fma(square, number(-0.5), rest));
}

llvm::Value* Exponentials::log(llvm::Value* f, llvm::Value* e) {
  return fma(e, number(kLn2Short.high), log_near_one(f, e));
}

llvm::Value* Exponentials::logarithm(llvm::StringRef name, llvm::Value* x) {
  const auto [fraction, e] = apart(x);
  llvm::Value* f = b_.CreateFSub(fraction, number(1));
  llvm::Value* result = nullptr;
  if (name == "log") result = log(f, e);
  if (name == "log2") result = fma(log_near_one(f), number(kLog2OfE), e);
  if (name == "log10") {
    result = fma(e, number(kLog10Of2.high), b_.CreateFMul(log_near_one(f), number(kLog10OfE)));
  }
  llvm::Value* zero = number(0);
  result = b_.CreateSelect(b_.CreateFCmpOEQ(x, zero), b_.CreateFNeg(infinity()), result);
  result = b_.CreateSelect(b_.CreateFCmpULT(x, zero), nan(), result);
  return b_.CreateSelect(b_.CreateFCmpOEQ(x, infinity()), x, result);
}

llvm::Value* write_exponential(llvm::IRBuilder<>& b, llvm::StringRef name, llvm::ArrayRef<llvm::Value*> arguments) {
  llvm::Value* x = arguments[0];
  Exponentials write(b, x->getType());
  if (name == "exp") return write.exp(x);
  if (name == "exp2") return write.exp2(x);
  if (name == "exp10") return write.exp10(x);
  if (name == "log" || name == "log2" || name == "log10") return write.logarithm(name, x);
  return nullptr;
}

}  // namespace anymps::metal::lower::builtins
