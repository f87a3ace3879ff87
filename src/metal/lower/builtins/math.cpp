// Floating-point functions. The fast variants are the precise ones: accuracy may be better than asked
// for.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <optional>

#include "metal/lower/builtins/builtin_lowering.h"

namespace anymps::metal::lower::builtins {
namespace {

using llvm::Intrinsic::ID;

struct Named {
  llvm::StringLiteral name;
  ID intrinsic;
};

// Every float type has these as they are.
constexpr Named kExact[] = {
    {"fabs", llvm::Intrinsic::fabs},   {"sqrt", llvm::Intrinsic::sqrt},        {"floor", llvm::Intrinsic::floor},
    {"ceil", llvm::Intrinsic::ceil},   {"trunc", llvm::Intrinsic::trunc},      {"rint", llvm::Intrinsic::rint},
    {"round", llvm::Intrinsic::round}, {"fma", llvm::Intrinsic::fma},          {"fmin", llvm::Intrinsic::minnum},
    {"fmax", llvm::Intrinsic::maxnum}, {"copysign", llvm::Intrinsic::copysign}};

// The C library has these for float; half goes through it.
constexpr Named kThroughFloat[] = {
    {"sin", llvm::Intrinsic::sin},   {"cos", llvm::Intrinsic::cos},   {"tan", llvm::Intrinsic::tan},
    {"exp", llvm::Intrinsic::exp},   {"exp2", llvm::Intrinsic::exp2}, {"exp10", llvm::Intrinsic::exp10},
    {"log", llvm::Intrinsic::log},   {"log2", llvm::Intrinsic::log2}, {"log10", llvm::Intrinsic::log10},
    {"pow", llvm::Intrinsic::pow},   {"powr", llvm::Intrinsic::pow},  {"sinh", llvm::Intrinsic::sinh},
    {"cosh", llvm::Intrinsic::cosh}, {"tanh", llvm::Intrinsic::tanh}, {"asin", llvm::Intrinsic::asin},
    {"acos", llvm::Intrinsic::acos}, {"atan", llvm::Intrinsic::atan}};

// The C library takes these apart by their bits, to which a denormal is not zero.
constexpr llvm::StringLiteral kOfBits[] = {"log", "log2", "log10", "pow", "atan2", "fmod"};

struct Library {
  llvm::StringLiteral name;
  llvm::StringLiteral function;
};
constexpr Library kLibrary[] = {
    {"asinh", "asinhf"},           {"acosh", "acoshf"},           {"atanh", "atanhf"},          {"atan2", "atan2f"},
    {"sinpi", "anymps_air_sinpi"}, {"cospi", "anymps_air_cospi"}, {"tanpi", "anymps_air_tanpi"}};

std::optional<ID> intrinsic_in(llvm::ArrayRef<Named> table, llvm::StringRef name) {
  for (const Named& entry : table) {
    if (entry.name == name) return entry.intrinsic;
  }
  return std::nullopt;
}

class MathWriter {
 public:
  MathWriter(llvm::IRBuilder<>& builder, const Declared& declared, bool denormals_are_zero)
      : b_(builder), d_(declared), arguments_(declared.arguments) {
    llvm::StringRef name = d_.operation;
    name.consume_front("fast_");
    if (!denormals_are_zero || !llvm::is_contained(kOfBits, name)) return;
    for (llvm::Value*& argument : arguments_) argument = flushed(argument);
  }

  llvm::Value* write() {
    llvm::StringRef name = d_.operation;
    name.consume_front("fast_");
    if (const auto id = intrinsic_in(kExact, name)) return intrinsic(*id, arguments_);
    if (const auto id = intrinsic_in(kThroughFloat, name)) {
      return through_float(arguments_, [&](llvm::ArrayRef<llvm::Value*> a) { return intrinsic(*id, a); });
    }
    for (const Library& entry : kLibrary) {
      if (entry.name == name) {
        return through_float(arguments_,
                             [&](llvm::ArrayRef<llvm::Value*> a) { return call_library(b_, entry.function, a); });
      }
    }
    return composed(name);
  }

 private:
  llvm::Value* intrinsic(ID id, llvm::ArrayRef<llvm::Value*> arguments) {
    return b_.CreateIntrinsic(id, {arguments[0]->getType()}, arguments);
  }

  // A denormal float as the zero of its sign; half has denormals.
  llvm::Value* flushed(llvm::Value* x) {
    llvm::Type* type = x->getType();
    if (!type->getScalarType()->isFloatTy() && !type->getScalarType()->isBFloatTy()) return x;
    llvm::Value* size = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
    llvm::Value* zero = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, llvm::ConstantFP::getZero(type), x);
    return b_.CreateSelect(b_.CreateFCmpOLT(size, llvm::ConstantFP::get(type, 0x1p-126)), zero, x);
  }

  // Vectors element by element, half and bfloat as float.
  llvm::Value* through_float(llvm::ArrayRef<llvm::Value*> arguments,
                             llvm::function_ref<llvm::Value*(llvm::ArrayRef<llvm::Value*>)> apply) {
    llvm::Type* type = arguments[0]->getType();
    if (type->isFloatTy()) return apply(arguments);
    llvm::SmallVector<llvm::Value*> parts;
    if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type)) {
      llvm::Value* result = llvm::PoisonValue::get(type);
      for (unsigned i = 0; i < vector->getNumElements(); ++i) {
        parts.clear();
        for (llvm::Value* argument : arguments) parts.push_back(b_.CreateExtractElement(argument, i));
        result = b_.CreateInsertElement(result, through_float(parts, apply), i);
      }
      return result;
    }
    for (llvm::Value* argument : arguments) parts.push_back(b_.CreateFPExt(argument, b_.getFloatTy()));
    return b_.CreateFPTrunc(apply(parts), type);
  }

  // Correctly rounded for every float, which was tried for all of them: the quotient, and what it lacks by Newton's
  // series up to the second term.
  llvm::Value* reciprocal_root(llvm::Value* x) {
    llvm::Type* type = x->getType();
    const auto number = [&](double value) { return llvm::ConstantFP::get(type, value); };
    const auto fma = [&](llvm::Value* left, llvm::Value* right, llvm::Value* more) {
      return intrinsic(llvm::Intrinsic::fma, {left, right, more});
    };
    llvm::Value* near = b_.CreateFDiv(number(1), intrinsic(llvm::Intrinsic::sqrt, {x}));
    llvm::Value* root = b_.CreateFMul(x, near);
    llvm::Value* rest = fma(x, near, b_.CreateFNeg(root));
    llvm::Value* lack = fma(b_.CreateFNeg(root), near, number(1));
    lack = fma(b_.CreateFNeg(rest), near, lack);
    llvm::Value* half = b_.CreateFMul(lack, number(0.5));
    llvm::Value* factor = fma(b_.CreateFMul(lack, number(0.375)), lack, half);
    // Of zero and infinity nothing can be lacking.
    return b_.CreateSelect(b_.CreateFCmpUNO(lack, lack), near, fma(near, factor, near));
  }

  llvm::Value* composed(llvm::StringRef name) {
    const auto& a = arguments_;
    llvm::Type* type = d_.result;
    if (name == "fmod") return b_.CreateFRem(a[0], a[1]);
    if (name == "rsqrt") {
      if (!type->getScalarType()->isFloatTy()) {
        llvm::Type* wide = type->getWithNewType(b_.getDoubleTy());
        llvm::Value* root = intrinsic(llvm::Intrinsic::sqrt, {b_.CreateFPExt(a[0], wide)});
        return b_.CreateFPTrunc(b_.CreateFDiv(llvm::ConstantFP::get(wide, 1), root), type);
      }
      return reciprocal_root(a[0]);
    }
    if (name == "ldexp") return b_.CreateIntrinsic(llvm::Intrinsic::ldexp, {type, a[1]->getType()}, a);
    if (name == "fract") {
      llvm::Value* rest = b_.CreateFSub(a[0], intrinsic(llvm::Intrinsic::floor, {a[0]}));
      const double most = type->getScalarType()->isHalfTy() ? 0x1.ffcp-1 : 0x1.fffffep-1;  // below one
      return intrinsic(llvm::Intrinsic::minnum, {rest, llvm::ConstantFP::get(type, most)});
    }
    if (name == "sincos") {  // returns the sine and stores the cosine
      b_.CreateStore(intrinsic(llvm::Intrinsic::cos, {a[0]}), a[1]);
      return intrinsic(llvm::Intrinsic::sin, {a[0]});
    }
    if (type->isFPOrFPVectorTy()) {
      if (llvm::Value* value = common(name)) return value;
    }
    if (name == "nextafter" && type->isFloatTy()) return call_library(b_, "nextafterf", a);
    if (name == "nextafter" && type->isHalfTy()) return next_half(a[0], a[1]);
    if (name == "dot") {
      llvm::Value* product = b_.CreateFMul(a[0], a[1]);
      llvm::Value* sum = b_.CreateExtractElement(product, std::uint64_t{0});
      for (unsigned i = 1; i < llvm::cast<llvm::FixedVectorType>(product->getType())->getNumElements(); ++i) {
        sum = b_.CreateFAdd(sum, b_.CreateExtractElement(product, i));
      }
      return sum;
    }
    return nullptr;
  }

  // What the Metal specification calls common functions.
  llvm::Value* common(llvm::StringRef name) {
    const auto& a = d_.arguments;
    llvm::Value* zero = llvm::ConstantFP::get(d_.result, 0);
    llvm::Value* one = llvm::ConstantFP::get(d_.result, 1);
    if (name == "clamp") return least(greatest(a[0], a[1]), a[2]);
    if (name == "saturate") return least(greatest(a[0], zero), one);
    if (name == "fmin3") return least(least(a[0], a[1]), a[2]);
    if (name == "fmax3") return greatest(greatest(a[0], a[1]), a[2]);
    if (name == "fmedian3") return greatest(least(a[0], a[1]), least(greatest(a[0], a[1]), a[2]));
    if (name == "mix") return b_.CreateFAdd(a[0], b_.CreateFMul(b_.CreateFSub(a[1], a[0]), a[2]));
    if (name == "step") return b_.CreateSelect(b_.CreateFCmpOLT(a[1], a[0]), zero, one);
    if (name == "smoothstep") {
      llvm::Value* t = b_.CreateFDiv(b_.CreateFSub(a[2], a[0]), b_.CreateFSub(a[1], a[0]));
      t = least(greatest(t, zero), one);
      llvm::Value* slope = b_.CreateFSub(llvm::ConstantFP::get(d_.result, 3), b_.CreateFAdd(t, t));
      return b_.CreateFMul(b_.CreateFMul(t, t), slope);
    }
    if (name == "sign") {  // keeps zeros as they are; NaN is zero
      llvm::Value* unit = intrinsic(llvm::Intrinsic::copysign, {one, a[0]});
      llvm::Value* is_zero = b_.CreateFCmpOEQ(a[0], zero);
      return b_.CreateSelect(b_.CreateFCmpUNO(a[0], a[0]), zero, b_.CreateSelect(is_zero, a[0], unit));
    }
    return nullptr;
  }

  llvm::Value* least(llvm::Value* x, llvm::Value* y) { return intrinsic(llvm::Intrinsic::minnum, {x, y}); }
  llvm::Value* greatest(llvm::Value* x, llvm::Value* y) { return intrinsic(llvm::Intrinsic::maxnum, {x, y}); }

  // Halves in order are integers in order, but for the sign.
  llvm::Value* next_half(llvm::Value* x, llvm::Value* y) {
    llvm::Type* half = x->getType();
    llvm::Value* zero = llvm::ConstantFP::get(half, 0);
    llvm::Value* away = b_.CreateXor(b_.CreateFCmpOLT(x, y), b_.CreateFCmpOLT(x, zero));
    llvm::Value* bits = b_.CreateBitCast(x, b_.getInt16Ty());
    llvm::Value* step = b_.CreateAdd(bits, b_.CreateSelect(away, b_.getInt16(1), b_.getInt16(0xFFFF)));
    llvm::Value* least = b_.CreateSelect(b_.CreateFCmpOGT(y, zero), b_.getInt16(1), b_.getInt16(0x8001));
    llvm::Value* next = b_.CreateSelect(b_.CreateFCmpOEQ(x, zero), least, step);
    llvm::Value* result = b_.CreateSelect(b_.CreateFCmpOEQ(x, y), y, b_.CreateBitCast(next, half));
    return b_.CreateSelect(b_.CreateFCmpUNO(x, y), b_.CreateFAdd(x, y), result);
  }

  llvm::IRBuilder<>& b_;
  const Declared& d_;
  llvm::SmallVector<llvm::Value*> arguments_;
};

}  // namespace

void lower_math(llvm::Module& module, bool denormals_are_zero) {
  define_builtins(module, [=](llvm::IRBuilder<>& builder, const Declared& declared, llvm::Value*& value) {
    value = MathWriter(builder, declared, denormals_are_zero).write();
    return value != nullptr ? Written::kDone : Written::kNotMine;
  });
}

}  // namespace anymps::metal::lower::builtins
