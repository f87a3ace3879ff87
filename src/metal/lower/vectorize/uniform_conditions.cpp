// Whether all lanes find a condition true: asked of the first and the last lane alone, where a condition is about
// numbers that grow from lane to lane.
#include <llvm/IR/PatternMatch.h>

#include "metal/lower/vectorize/vector_writer.h"

namespace anymps::metal::lower::vectorize {
namespace {

using Kind = Shape::Kind;
using Predicate = llvm::CmpInst::Predicate;

// Between two lanes at most; what is larger is left to vectors.
constexpr std::int64_t kLargestStep = std::int64_t{1} << 24;

bool asks_for_less(Predicate predicate) {
  using llvm::CmpInst;
  return predicate == CmpInst::ICMP_ULT || predicate == CmpInst::ICMP_ULE || predicate == CmpInst::ICMP_SLT ||
         predicate == CmpInst::ICMP_SLE;
}

}  // namespace

// True only if all lanes find `condition` to be `truth`; false may be said where that is not known. Null where only
// vectors can tell.
llvm::Value* Writer::surely(const llvm::Value* condition, bool truth) {
  using namespace llvm::PatternMatch;
  if (divergence_.uniform(condition)) {
    llvm::Value* one = scalar(condition);
    return truth ? one : b_.CreateNot(one);
  }
  if (const auto* compare = llvm::dyn_cast<llvm::ICmpInst>(condition)) return surely_compares(*compare, truth);
  const llvm::Value* left = nullptr;
  const llvm::Value* right = nullptr;
  if (match(condition, m_Not(m_Value(left)))) return surely(left, !truth);
  const bool both = match(condition, m_LogicalAnd(m_Value(left), m_Value(right)));
  if (!both && !match(condition, m_LogicalOr(m_Value(left), m_Value(right)))) return nullptr;
  llvm::Value* first = surely(left, truth);
  llvm::Value* second = surely(right, truth);
  if (both == truth) return first != nullptr && second != nullptr ? b_.CreateAnd(first, second) : nullptr;
  // One of them is enough, and that lanes may differ in which is not looked into.
  if (first == nullptr || second == nullptr) return first != nullptr ? first : second;
  return b_.CreateOr(first, second);
}

llvm::Value* Writer::surely_compares(const llvm::ICmpInst& compare, bool truth) {
  const llvm::Value* left = compare.getOperand(0);
  const llvm::Value* right = compare.getOperand(1);
  Predicate predicate = truth ? compare.getPredicate() : compare.getInversePredicate();
  if (divergence_.uniform(left)) {
    std::swap(left, right);
    predicate = llvm::CmpInst::getSwappedPredicate(predicate);
  }
  const Shape shape = divergence_.shape(left);
  if (shape.kind != Kind::kAffine || !divergence_.uniform(right) || shape.step.by != nullptr) return nullptr;
  if (!left->getType()->isIntegerTy() || std::abs(shape.step.times) > kLargestStep) return nullptr;
  if (predicate == llvm::CmpInst::ICMP_EQ) return b_.getFalse();

  const std::int64_t span = shape.step.times * (lanes_ - 1);
  llvm::Value* first = scalar(left);
  llvm::Value* last = b_.CreateAdd(first, llvm::ConstantInt::getSigned(left->getType(), span));
  llvm::Value* least = span > 0 ? first : last;
  llvm::Value* most = span > 0 ? last : first;
  llvm::Value* limit = scalar(right);
  llvm::Value* result = nullptr;
  if (predicate == llvm::CmpInst::ICMP_NE) {
    result = b_.CreateICmpUGT(b_.CreateSub(limit, least), llvm::ConstantInt::get(left->getType(), std::abs(span)));
  } else {
    llvm::Value* in_order =
        llvm::CmpInst::isSigned(predicate) ? b_.CreateICmpSLE(least, most) : b_.CreateICmpULE(least, most);
    result = b_.CreateAnd(b_.CreateICmp(predicate, asks_for_less(predicate) ? most : least, limit), in_order);
  }
  if (llvm::Value* affine = holds(left)) result = b_.CreateAnd(result, affine);
  return result;
}

}  // namespace anymps::metal::lower::vectorize
