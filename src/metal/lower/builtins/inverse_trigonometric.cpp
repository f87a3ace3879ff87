// asin, acos, atan and atan2 as formulas: within 2 units in the last place, where Metal's specification allows 4 (atan:
// 5, atan2: 6).
#include "metal/lower/builtins/formulas.h"

namespace anymps::metal::lower::builtins {
namespace {

// Of asin(x) = x + x^3 P(x^2) for |x| <= 9/16 and atan(x) = x + x^3 P(x^2) for |x| <= 1: least deviation, lowest power
// first.
constexpr double kAsin[] = {0x1.555526p-3, 0x1.334932p-4, 0x1.6a59a6p-5, 0x1.169d96p-5, 0x1.b9e6c2p-8, 0x1.84fc0ep-5};
constexpr double kAtan[] = {-0x1.55553ep-2, 0x1.9991e4p-3,  -0x1.242086p-3, 0x1.c08c48p-4,  -0x1.5808e2p-4,
                            0x1.da2870p-5,  -0x1.fd78a6p-6, 0x1.641c18p-7,  -0x1.d3446cp-10};
// Where asin(x) leaves less of a quarter turn than 1, whose rounding is finer.
constexpr double kAsinNear = 0.5625;

class ArcWriter : public Formulas {
 public:
  using Formulas::Formulas;

  llvm::Value* asin(llvm::Value* x) {
    const Arc arc = arc_of_sine(x);
    llvm::Value* far = turns_less(1, b_.CreateFAdd(arc.angle, arc.angle));
    return with_sign(b_.CreateSelect(arc.far, far, arc.angle), x);
  }

  llvm::Value* acos(llvm::Value* x) {
    const Arc arc = arc_of_sine(x);
    llvm::Value* twice = b_.CreateFAdd(arc.angle, arc.angle);
    llvm::Value* far = b_.CreateSelect(b_.CreateFCmpOLT(x, number(0)), turns_less(2, twice), twice);
    return b_.CreateSelect(arc.far, far, turns_less(1, with_sign(arc.angle, x)));
  }

  llvm::Value* atan(llvm::Value* x) { return with_sign(steep(size_of(x), number(1)), x); }

  llvm::Value* atan2(llvm::Value* y, llvm::Value* x) {
    llvm::Value* right = steep(size_of(y), size_of(x));
    llvm::Value* left = b_.CreateICmpSLT(bits_of(x), integer(0));  // also from -0
    llvm::Value* angle = with_sign(b_.CreateSelect(left, turns_less(2, right), right), y);
    return b_.CreateSelect(b_.CreateFCmpUNO(y, x), nan(), angle);
  }

 private:
  // The arc sine of |x|, or from kAsinNear on half of what it lacks of a quarter turn.
  struct Arc {
    llvm::Value* far;
    llvm::Value* angle;
  };
  Arc arc_of_sine(llvm::Value* x) {
    llvm::Value* size = size_of(x);
    llvm::Value* far = b_.CreateFCmpOGT(size, number(kAsinNear));
    llvm::Value* square =
        b_.CreateSelect(far, fma(size, number(-0.5), number(0.5)), b_.CreateFMul(size, size));  // (1 - |x|) / 2
    llvm::Value* sine = b_.CreateSelect(far, root(square), size);
    return {.far = far, .angle = odd(sine, square, kAsin)};
  }

  // Of that many quarter turns.
  llvm::Value* turns_less(double quarters, llvm::Value* angle) {
    return b_.CreateFSub(number(quarters * kHalfPi.high), b_.CreateFSub(angle, number(quarters * kHalfPi.low)));
  }

  // The angle of y / x, neither of which is negative.
  llvm::Value* steep(llvm::Value* y, llvm::Value* x) {
    llvm::Value* steep = b_.CreateFCmpOGT(y, x);
    llvm::Value* less = b_.CreateSelect(steep, x, y);
    llvm::Value* more = b_.CreateSelect(steep, y, x);
    llvm::Value* slope = b_.CreateFDiv(less, more);
    slope = b_.CreateSelect(b_.CreateFCmpOEQ(more, number(0)), number(0), slope);
    slope = b_.CreateSelect(b_.CreateFCmpOEQ(less, infinity()), number(1), slope);
    llvm::Value* angle = odd(slope, b_.CreateFMul(slope, slope), kAtan);
    return b_.CreateSelect(steep, turns_less(1, angle), angle);
  }
};

}  // namespace

llvm::Value* write_arc(llvm::IRBuilder<>& b, llvm::StringRef name, llvm::ArrayRef<llvm::Value*> arguments) {
  ArcWriter write(b, arguments[0]->getType());
  if (name == "asin") return write.asin(arguments[0]);
  if (name == "acos") return write.acos(arguments[0]);
  if (name == "atan") return write.atan(arguments[0]);
  if (name == "atan2") return write.atan2(arguments[0], arguments[1]);
  return nullptr;
}

}  // namespace anymps::metal::lower::builtins
