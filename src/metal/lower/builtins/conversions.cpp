// "air.convert.<to kind>.<to type>.<from kind>.<from type>": kinds are f, s and u.
#include <llvm/IR/Intrinsics.h>

#include "metal/lower/builtins/builtin_lowering.h"

namespace anymps::metal::lower::builtins {
namespace {

class Converter {
 public:
  Converter(llvm::IRBuilder<>& builder, llvm::Type* to) : b_(builder), to_(to) {}

  llvm::Value* float_to_float(llvm::Value* x) {
    const unsigned have = x->getType()->getScalarSizeInBits();
    const unsigned want = to_->getScalarSizeInBits();
    if (have < want) return b_.CreateFPExt(x, to_);
    if (have > want) return b_.CreateFPTrunc(x, to_);
    return b_.CreateFPTrunc(b_.CreateFPExt(x, as_float(x->getType())), to_);  // half and bfloat
  }

  llvm::Value* integer_to_float(llvm::Value* x, bool is_signed) {
    // Code generation has no direct way from 64-bit integers to bfloat.
    llvm::Type* through = to_->getScalarType()->isBFloatTy() ? as_float(to_) : to_;
    llvm::Value* value = is_signed ? b_.CreateSIToFP(x, through) : b_.CreateUIToFP(x, through);
    return through == to_ ? value : b_.CreateFPTrunc(value, to_);
  }

  // Out of range saturates and NaN is zero. For 8 and 16 bits that is not verified on Apple's hardware.
  llvm::Value* float_to_integer(llvm::Value* x, bool is_signed) {
    // LLVM 19 has no way from bfloats, and for processors with arithmetic of halves makes the least number of a NaN.
    if (!x->getType()->getScalarType()->isFloatTy()) x = b_.CreateFPExt(x, as_float(x->getType()));
    if (to_->getScalarSizeInBits() == 1) return b_.CreateFCmpUNE(x, llvm::Constant::getNullValue(x->getType()));
    const auto id = is_signed ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    return b_.CreateIntrinsic(id, {to_, x->getType()}, {x});
  }

  llvm::Value* integer_to_integer(llvm::Value* x, bool is_signed) {
    if (to_->getScalarSizeInBits() == 1) return b_.CreateIsNotNull(x);
    return is_signed ? b_.CreateSExtOrTrunc(x, to_) : b_.CreateZExtOrTrunc(x, to_);
  }

 private:
  llvm::Type* as_float(llvm::Type* type) { return type->getWithNewType(b_.getFloatTy()); }

  llvm::IRBuilder<>& b_;
  llvm::Type* to_;
};

}  // namespace

void lower_conversions(llvm::Module& module) {
  define_builtins(module, [](llvm::IRBuilder<>& builder, const Declared& declared, llvm::Value*& value) {
    if (declared.operation != "convert") return Written::kNotMine;
    llvm::SmallVector<llvm::StringRef, 4> parts;
    declared.suffix.split(parts, '.');
    if (parts.size() != 4) return Written::kNotMine;  // a rounding mode, which no kernel has asked for yet
    Converter convert(builder, declared.result);
    llvm::Value* x = declared.arguments[0];
    const bool from_float = parts[2] == "f";
    if (parts[0] == "f") {
      value = from_float ? convert.float_to_float(x) : convert.integer_to_float(x, parts[2] == "s");
    } else {
      value =
          from_float ? convert.float_to_integer(x, parts[0] == "s") : convert.integer_to_integer(x, parts[2] == "s");
    }
    return Written::kDone;
  });
}

}  // namespace anymps::metal::lower::builtins
