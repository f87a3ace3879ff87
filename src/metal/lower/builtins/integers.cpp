// Integer functions, "air.<operation>.<s or u>.<type>" or without the sign, and the few that ask about the module.
#include <llvm/IR/Intrinsics.h>

#include "metal/lower/builtins/builtin_lowering.h"

namespace anymps::metal::lower::builtins {
namespace {

using llvm::Intrinsic::ID;

class IntegerWriter {
 public:
  IntegerWriter(llvm::IRBuilder<>& builder, const Declared& declared)
      : b_(builder), d_(declared), signed_(declared.suffix.starts_with("s.")) {}

  llvm::Value* write() {
    const auto& a = d_.arguments;
    const llvm::StringRef name = d_.operation;
    if (name == "min") return least(a[0], a[1]);
    if (name == "max") return greatest(a[0], a[1]);
    if (name == "clamp") return least(greatest(a[0], a[1]), a[2]);
    if (name == "min3") return least(least(a[0], a[1]), a[2]);
    if (name == "max3") return greatest(greatest(a[0], a[1]), a[2]);
    if (name == "median3") return greatest(least(a[0], a[1]), least(greatest(a[0], a[1]), a[2]));
    if (name == "abs") return absolute(a[0]);
    if (name == "abs_diff") return b_.CreateSub(greatest(a[0], a[1]), least(a[0], a[1]));
    if (name == "add_sat") return either(llvm::Intrinsic::sadd_sat, llvm::Intrinsic::uadd_sat, a[0], a[1]);
    if (name == "sub_sat") return either(llvm::Intrinsic::ssub_sat, llvm::Intrinsic::usub_sat, a[0], a[1]);
    if (name == "hadd") return half_sum(0);
    if (name == "rhadd") return half_sum(1);
    if (name == "mul_hi") return high_product();
    if (name == "mad_hi") return b_.CreateAdd(high_product(), a[2]);
    if (name == "all") return b_.CreateAndReduce(a[0]);
    if (name == "any") return b_.CreateOrReduce(a[0]);
    return bits(name);
  }

 private:
  llvm::Value* either(ID of_signed, ID of_unsigned, llvm::Value* x, llvm::Value* y) {
    return b_.CreateBinaryIntrinsic(signed_ ? of_signed : of_unsigned, x, y);
  }
  // Apple's compiler declares it of unsigned integers, too.
  llvm::Value* absolute(llvm::Value* x) {
    return signed_ ? b_.CreateIntrinsic(llvm::Intrinsic::abs, {d_.result}, {x, b_.getFalse()}) : x;
  }
  llvm::Value* least(llvm::Value* x, llvm::Value* y) {
    return either(llvm::Intrinsic::smin, llvm::Intrinsic::umin, x, y);
  }
  llvm::Value* greatest(llvm::Value* x, llvm::Value* y) {
    return either(llvm::Intrinsic::smax, llvm::Intrinsic::umax, x, y);
  }

  llvm::Value* widened(llvm::Value* x, llvm::Type* wide) {
    return signed_ ? b_.CreateSExt(x, wide) : b_.CreateZExt(x, wide);
  }
  llvm::Type* twice() { return d_.result->getWithNewType(b_.getIntNTy(2 * d_.result->getScalarSizeInBits())); }
  llvm::Value* high_product() {
    llvm::Value* product = b_.CreateMul(widened(d_.arguments[0], twice()), widened(d_.arguments[1], twice()));
    return b_.CreateTrunc(b_.CreateLShr(product, d_.result->getScalarSizeInBits()), d_.result);
  }
  // Rounded down, or up with `extra`.
  llvm::Value* half_sum(std::uint64_t extra) {
    llvm::Value* sum = b_.CreateAdd(widened(d_.arguments[0], twice()), widened(d_.arguments[1], twice()));
    sum = b_.CreateAdd(sum, llvm::ConstantInt::get(twice(), extra));
    return b_.CreateTrunc(b_.CreateAShr(sum, 1), d_.result);
  }

  llvm::Value* bits(llvm::StringRef name) {
    const auto& a = d_.arguments;
    if (name == "popcount") return b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, a[0]);
    if (name == "reverse_bits") return b_.CreateUnaryIntrinsic(llvm::Intrinsic::bitreverse, a[0]);
    // Of zero both give the number of bits, whatever the second operand says.
    if (name == "clz") return b_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, a[0], b_.getFalse());
    if (name == "ctz") return b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, a[0], b_.getFalse());
    if (name == "rotate") return b_.CreateIntrinsic(llvm::Intrinsic::fshl, {d_.result}, {a[0], a[0], a[1]});
    if (name == "extract_bits") {
      // Up to the top of the word, and down again with the sign or zeros; no bits at all are zero.
      llvm::Value* all = llvm::ConstantInt::get(d_.result, d_.result->getScalarSizeInBits());
      llvm::Value* top = b_.CreateSub(all, count(2));
      llvm::Value* high = b_.CreateShl(b_.CreateLShr(a[0], count(1)), top);
      llvm::Value* low = signed_ ? b_.CreateAShr(high, top) : b_.CreateLShr(high, top);
      return b_.CreateSelect(none(2), llvm::Constant::getNullValue(d_.result), low);
    }
    if (name == "insert_bits") {
      llvm::Value* all = llvm::ConstantInt::get(d_.result, d_.result->getScalarSizeInBits());
      llvm::Value* ones = llvm::Constant::getAllOnesValue(d_.result);
      llvm::Value* mask = b_.CreateShl(b_.CreateLShr(ones, b_.CreateSub(all, count(3))), count(2));
      llvm::Value* mixed =
          b_.CreateOr(b_.CreateAnd(a[0], b_.CreateNot(mask)), b_.CreateAnd(b_.CreateShl(a[1], count(2)), mask));
      return b_.CreateSelect(none(3), a[0], mixed);
    }
    return of_the_module(name);
  }

  // A count of bits, which is 32 bits wide whatever the word is, as wide as the word.
  llvm::Value* count(unsigned argument) {
    llvm::Value* narrow = b_.CreateZExtOrTrunc(d_.arguments[argument], d_.result->getScalarType());
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(d_.result);
    return vector == nullptr ? narrow : b_.CreateVectorSplat(vector->getNumElements(), narrow);
  }
  llvm::Value* none(unsigned argument) { return b_.CreateIsNull(d_.arguments[argument]); }

  llvm::Value* of_the_module(llvm::StringRef name) {
    // An assertion of the program's, which it passes to llvm.assume.
    if (name == "is_uniform") return b_.getTrue();
    if (name == "get_simdgroup_size") return llvm::ConstantInt::get(d_.result, 32);
    if (name == "normalize_function_constant_predicate") {
      return b_.CreateZExt(b_.CreateIsNotNull(d_.arguments[0]), d_.result);
    }
    return nullptr;
  }

  llvm::IRBuilder<>& b_;
  const Declared& d_;
  const bool signed_;
};

}  // namespace

void lower_integers(llvm::Module& module) {
  define_builtins(module, [](llvm::IRBuilder<>& builder, const Declared& declared, llvm::Value*& value) {
    value = IntegerWriter(builder, declared).write();
    return value != nullptr ? Written::kDone : Written::kNotMine;
  });
}

}  // namespace anymps::metal::lower::builtins
