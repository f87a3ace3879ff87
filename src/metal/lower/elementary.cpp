// exp, log and tanh as formulas without a branch or a call, so that LLVM can vectorise the loop around them. A thread's
// result is the same on every route. Within 2 units in the last place, where Metal's specification allows 4 (exp2,
// exp10, log2, log10 and tanh included; tests/metal/elementary_test.cpp).
#include <llvm/IR/Intrinsics.h>
#include <llvm/Target/TargetMachine.h>

#include "metal/lower/bodies.h"

namespace anymps::metal::lower {
namespace {

// Of exp(r) = 1 + r + r^2 P(r) for |r| <= ln(2) / 2, 2^r = 1 + r P(r) for |r| <= 1/2, ln(1 + f) = f - f^2 / 2 + f^3
// P(f) for 1 + f in [sqrt(1/2), sqrt(2)], and tanh(x) = x + x^3 P(x^2) for |x| <= 5/8: least deviation, lowest power
// first.
constexpr double kExp[] = {0x1.000000p-1, 0x1.555556p-3, 0x1.5554eap-5, 0x1.1110acp-7, 0x1.6d4318p-10, 0x1.a17df4p-13};
constexpr double kExp2[] = {0x1.62e430p-1,  0x1.ebfbe0p-3,  0x1.c6b08ep-5, 0x1.3b2a1cp-7,
                            0x1.5d874cp-10, 0x1.444004p-13, 0x1.00dc4ap-16};
constexpr double kLog[] = {0x1.555554p-2,  -0x1.ffffe6p-3, 0x1.999d36p-3,  -0x1.55625cp-3, 0x1.23dd18p-3,
                           -0x1.fbc4e6p-4, 0x1.dc8e6ep-4,  -0x1.dd96c8p-4, 0x1.2c562ep-4};
constexpr double kTanh[] = {-0x1.555556p-2, 0x1.1110ecp-3,  -0x1.ba0960p-5,
                            0x1.64b22cp-6,  -0x1.119cf0p-7, 0x1.2d53a2p-9};

// Constants in two parts, of which the first is rounded.
struct Split {
  double high;
  double low;
};
constexpr Split kLn2 = {0x1.62e430p-1, -0x1.05c610p-29};
constexpr Split kLn2Short = {0x1.62e400p-1, 0x1.7f7d1cp-20};  // times an exponent, the first is exact
constexpr Split kLog10Of2 = {0x1.344136p-2, -0x1.ec10c0p-27};
constexpr double kLog2OfE = 0x1.715476p+0;
constexpr double kLog2Of10 = 0x1.a934f0p+1;
constexpr double kLog10OfE = 0x1.bcb7b2p-2;
constexpr double kLn10 = 0x1.26bb1cp+1;

class ElementaryWriter {
 public:
  explicit ElementaryWriter(llvm::IRBuilder<>& builder, llvm::Type* type)
      : b_(builder), type_(type), bits_(type->getWithNewType(builder.getInt32Ty())) {}

  // Nothing for a function that is not here.
  llvm::Value* write(llvm::StringRef name, llvm::Value* x) {
    if (name == "exp") return exp(x);
    if (name == "exp2") return exp2(x);
    if (name == "exp10") return exp10(x);
    if (name == "log" || name == "log2" || name == "log10") return logarithm(name, x);
    if (name == "tanh") return tanh(x);
    return nullptr;
  }

 private:
  llvm::Value* number(double value) { return llvm::ConstantFP::get(type_, value); }
  llvm::Value* integer(std::uint32_t value) { return llvm::ConstantInt::get(bits_, value); }
  llvm::Value* fma(llvm::Value* x, llvm::Value* y, llvm::Value* z) {
    return b_.CreateIntrinsic(llvm::Intrinsic::fma, {type_}, {x, y, z});
  }
  llvm::Value* polynomial(llvm::Value* x, llvm::ArrayRef<double> coefficients) {
    llvm::Value* sum = number(coefficients.back());
    for (const double c : llvm::reverse(coefficients.drop_back())) sum = fma(sum, x, number(c));
    return sum;
  }
  // Keeps NaN, which minnum and maxnum would not.
  llvm::Value* clamped(llvm::Value* x, double low, double high) {
    x = b_.CreateSelect(b_.CreateFCmpOLT(x, number(low)), number(low), x);
    return b_.CreateSelect(b_.CreateFCmpOGT(x, number(high)), number(high), x);
  }

  // `shifted` is a number with 1.5 * 2^23 added: its low bits are the rounded number.
  static constexpr double kShift = 0x1.8p23;
  static constexpr std::uint32_t kShiftBits = 0x4B400000;
  llvm::Value* rounded(llvm::Value* shifted) { return b_.CreateFSub(shifted, number(kShift)); }

  // value * 2^n, in two steps, since 2^n alone may be out of range.
  llvm::Value* scaled(llvm::Value* value, llvm::Value* shifted) {
    llvm::Value* n = b_.CreateSub(b_.CreateBitCast(shifted, bits_), integer(kShiftBits));
    llvm::Value* half = b_.CreateAShr(n, 1);
    const auto power = [&](llvm::Value* exponent) {
      return b_.CreateBitCast(b_.CreateShl(b_.CreateAdd(exponent, integer(127)), 23), type_);
    };
    return b_.CreateFMul(b_.CreateFMul(value, power(half)), power(b_.CreateSub(n, half)));
  }

  llvm::Value* exp_of_rest(llvm::Value* r) { return fma(r, fma(r, polynomial(r, kExp), number(1)), number(1)); }
  llvm::Value* exp(llvm::Value* x) {
    x = clamped(x, -104, 89);
    llvm::Value* shifted = fma(x, number(kLog2OfE), number(kShift));
    llvm::Value* n = rounded(shifted);
    llvm::Value* r = fma(n, number(-kLn2.low), fma(n, number(-kLn2.high), x));
    return scaled(exp_of_rest(r), shifted);
  }
  llvm::Value* exp2(llvm::Value* x) {
    x = clamped(x, -151, 129);
    llvm::Value* shifted = b_.CreateFAdd(x, number(kShift));
    llvm::Value* r = b_.CreateFSub(x, rounded(shifted));
    return scaled(fma(r, polynomial(r, kExp2), number(1)), shifted);
  }
  llvm::Value* exp10(llvm::Value* x) {
    x = clamped(x, -46, 39);
    llvm::Value* shifted = fma(x, number(kLog2Of10), number(kShift));
    llvm::Value* n = rounded(shifted);
    llvm::Value* r = fma(n, number(-kLog10Of2.low), fma(n, number(-kLog10Of2.high), x));
    return scaled(exp_of_rest(b_.CreateFMul(r, number(kLn10))), shifted);
  }

  llvm::Value* logarithm(llvm::StringRef name, llvm::Value* x) {
    // x = (1 + f) * 2^e with 1 + f in [sqrt(1/2), sqrt(2)).
    llvm::Value* small = b_.CreateFCmpOLT(x, number(0x1p-126));
    llvm::Value* bits = b_.CreateBitCast(b_.CreateSelect(small, b_.CreateFMul(x, number(0x1p23)), x), bits_);
    constexpr std::uint32_t kRootOfHalf = 0x3F3504F3;
    llvm::Value* exponent = b_.CreateAShr(b_.CreateSub(bits, integer(kRootOfHalf)), 23);
    llvm::Value* f = b_.CreateFSub(b_.CreateBitCast(b_.CreateSub(bits, b_.CreateShl(exponent, 23)), type_), number(1));
    llvm::Value* e = b_.CreateSIToFP(exponent, type_);
    e = b_.CreateSelect(small, b_.CreateFSub(e, number(23)), e);

    llvm::Value* square = b_.CreateFMul(f, f);
    llvm::Value* rest = b_.CreateFMul(b_.CreateFMul(square, f), polynomial(f, kLog));
    if (name == "log") rest = fma(e, number(kLn2Short.low), rest);
    llvm::Value* log = b_.CreateFAdd(f, fma(square, number(-0.5), rest));
    llvm::Value* result = nullptr;
    if (name == "log") result = fma(e, number(kLn2Short.high), log);
    if (name == "log2") result = fma(log, number(kLog2OfE), e);
    if (name == "log10") result = fma(e, number(kLog10Of2.high), b_.CreateFMul(log, number(kLog10OfE)));

    llvm::Value* zero = number(0);
    result = b_.CreateSelect(b_.CreateFCmpOEQ(x, zero), llvm::ConstantFP::getInfinity(type_, true), result);
    result = b_.CreateSelect(b_.CreateFCmpULT(x, zero), llvm::ConstantFP::getNaN(type_), result);
    return b_.CreateSelect(b_.CreateFCmpOEQ(x, llvm::ConstantFP::getInfinity(type_)), x, result);
  }

  llvm::Value* tanh(llvm::Value* x) {
    llvm::Value* size = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
    llvm::Value* square = b_.CreateFMul(x, x);
    llvm::Value* near_zero = fma(b_.CreateFMul(square, x), polynomial(square, kTanh), x);
    llvm::Value* power = exp(clamped(b_.CreateFAdd(size, size), 0, 20));
    llvm::Value* rest = b_.CreateFDiv(number(2), b_.CreateFAdd(power, number(1)));
    llvm::Value* far = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, b_.CreateFSub(number(1), rest), x);
    return b_.CreateSelect(b_.CreateFCmpOLT(size, number(0.625)), near_zero, far);
  }

  llvm::IRBuilder<>& b_;
  llvm::Type* type_;
  llvm::Type* bits_;
};

}  // namespace

void lower_elementary(llvm::Module& module, const llvm::TargetMachine& target) {
  // Without the instruction, each fused multiply-add is a call, and the C library's functions are faster.
  const bool fuses = target.getTargetTriple().isAArch64() || target.getTargetFeatureString().contains("+fma");
  if (!fuses) return;
  give_bodies(module, [](llvm::IRBuilder<>& builder, const Declared& declared, llvm::Value*& value) {
    if (declared.arguments.size() != 1 || !declared.result->isFPOrFPVectorTy()) return Written::kNotMine;
    llvm::StringRef name = declared.operation;
    name.consume_front("fast_");
    llvm::Type* wide = declared.result->getWithNewType(builder.getFloatTy());
    const bool narrow = wide != declared.result;
    llvm::Value* x = declared.arguments[0];
    value = ElementaryWriter(builder, wide).write(name, narrow ? builder.CreateFPExt(x, wide) : x);
    if (value == nullptr) return Written::kNotMine;
    if (narrow) value = builder.CreateFPTrunc(value, declared.result);
    return Written::kDone;
  });
}

}  // namespace anymps::metal::lower
