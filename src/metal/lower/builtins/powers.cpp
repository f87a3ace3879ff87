// pow and powr as a formula: within 2 units in the last place, where Metal's specification allows 16. The logarithm is
// a sum of two floats: its error grows as much as the result, up to 150 times.
#include "metal/lower/builtins/formulas.h"

namespace anymps::metal::lower::builtins {
namespace {

// Of log2((1 + s) / (1 - s)) = 2 s / ln(2) + s^3 P(s^2) for |s| <= 1/13: least deviation, lowest power first.
constexpr double kLog2[] = {0x1.ec709ep-1, 0x1.277574p-1, 0x1.a98cfcp-2};
constexpr Split kTwoByLn2 = {0x1.715476p+1, 0x1.4ae0c0p-25};

// Numbers near which fractions are taken, so that s is small. Added to an exponent, the first part of a logarithm is
// exact.
struct Pole {
  double number;
  Split log2;
};
constexpr Pole kUnder = {.number = 0.75, .log2 = {-0x1.a90000p-2, 0x1.a39fbep-20}};
constexpr Pole kOver = {.number = 1.25, .log2 = {0x1.49a000p-2, 0x1.e12f34p-16}};
constexpr double kUnderEnds = 0.875;
constexpr double kOverBegins = 1.125;

class PowerWriter : public Exponentials {
 public:
  using Exponentials::Exponentials;

  llvm::Value* pow(llvm::Value* x, llvm::Value* y) {
    llvm::Value* size = size_of(x);
    llvm::Value* result = exp2_of_product(log2(size), y);
    result = b_.CreateSelect(b_.CreateFCmpOEQ(size, number(1)), number(1), result);

    llvm::Value* is_whole = b_.CreateFCmpOEQ(round(y), y);
    llvm::Value* half = b_.CreateFMul(y, number(0.5));
    llvm::Value* is_odd = b_.CreateAnd(is_whole, b_.CreateFCmpONE(round(half), half));
    result = flipped(result, b_.CreateSelect(is_odd, sign_of(bits_of(x)), integer(0)));
    llvm::Value* below = b_.CreateAnd(b_.CreateFCmpOLT(x, number(0)), b_.CreateFCmpOLT(size, infinity()));
    result = b_.CreateSelect(b_.CreateAnd(below, b_.CreateNot(is_whole)), nan(), result);
    return b_.CreateSelect(b_.CreateFCmpOEQ(y, number(0)), number(1), result);  // of NaN too
  }

 private:
  struct Sum {
    llvm::Value* high;
    llvm::Value* low;
  };

  llvm::Value* round(llvm::Value* x) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::rint, x); }

  Sum log2(llvm::Value* x) {
    const auto [m, e] = apart(x);
    llvm::Value* under = b_.CreateFCmpOLT(m, number(kUnderEnds));
    llvm::Value* over = b_.CreateFCmpOGT(m, number(kOverBegins));
    const auto of_pole = [&](double if_under, double if_over, double otherwise) {
      return b_.CreateSelect(under, number(if_under), b_.CreateSelect(over, number(if_over), number(otherwise)));
    };
    // s = (m - pole) / (m + pole) is quotient + rest, of which m - pole is exact and m + pole is below + lost.
    llvm::Value* pole = of_pole(kUnder.number, kOver.number, 1);
    llvm::Value* above = b_.CreateFSub(m, pole);
    llvm::Value* below = b_.CreateFAdd(m, pole);
    llvm::Value* lost = b_.CreateFSub(m, b_.CreateFSub(below, pole));
    llvm::Value* inverse = b_.CreateFDiv(number(1), below);
    llvm::Value* quotient = b_.CreateFMul(above, inverse);
    llvm::Value* rest = b_.CreateFMul(less(less(above, quotient, below), quotient, lost), inverse);

    llvm::Value* square = b_.CreateFMul(quotient, quotient);
    llvm::Value* small =
        fma(b_.CreateFMul(quotient, square), polynomial(square, kLog2), of_pole(kUnder.log2.low, kOver.log2.low, 0));
    llvm::Value* first = b_.CreateFMul(quotient, number(kTwoByLn2.high));
    llvm::Value* low = fma(quotient, number(kTwoByLn2.high), b_.CreateFNeg(first));
    low = fma(quotient, number(kTwoByLn2.low), low);
    low = b_.CreateFAdd(fma(rest, number(kTwoByLn2.high), low), small);

    const Sum sum = added(b_.CreateFAdd(e, of_pole(kUnder.log2.high, kOver.log2.high, 0)), first);
    Sum log = added(sum.high, b_.CreateFAdd(low, sum.low));
    log.high = b_.CreateSelect(b_.CreateFCmpOEQ(x, number(0)), b_.CreateFNeg(infinity()), log.high);
    log.high = b_.CreateSelect(b_.CreateFCmpOLT(x, infinity()), log.high, x);  // infinity and NaN
    return log;
  }

  // Exact, where the first is zero or not smaller.
  Sum added(llvm::Value* x, llvm::Value* y) {
    llvm::Value* high = b_.CreateFAdd(x, y);
    return {.high = high, .low = b_.CreateFSub(y, b_.CreateFSub(high, x))};
  }

  llvm::Value* exp2_of_product(const Sum& log, llvm::Value* y) {
    constexpr double kFar = 160;  // beyond, all is infinity or zero
    llvm::Value* high = b_.CreateFMul(y, log.high);
    llvm::Value* low = fma(log.low, y, fma(y, log.high, b_.CreateFNeg(high)));
    low = b_.CreateSelect(b_.CreateFCmpOLT(size_of(high), number(kFar)), low, number(0));
    high = clamped(high, -kFar, kFar);
    llvm::Value* shifted = b_.CreateFAdd(high, number(kShift));
    llvm::Value* r = b_.CreateFAdd(b_.CreateFSub(high, rounded(shifted)), low);
    return scaled(exp2_of_rest(r), whole(shifted));
  }
};

}  // namespace

llvm::Value* write_power(llvm::IRBuilder<>& b, llvm::StringRef name, llvm::ArrayRef<llvm::Value*> arguments) {
  if (name != "pow" && name != "powr") return nullptr;
  return PowerWriter(b, arguments[0]->getType()).pow(arguments[0], arguments[1]);
}

}  // namespace anymps::metal::lower::builtins
