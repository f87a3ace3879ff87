#include "metal/lint/thread_values.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/PatternMatch.h>

#include <algorithm>

#include "metal/abi/cooperative_op.h"

namespace anymps::metal::lint {
namespace {

using namespace llvm::PatternMatch;  // NOLINT(google-build-using-namespace): how LLVM's matchers are meant to be used

constexpr unsigned kDeepest = 32;

bool is_of_thread(air::ArgumentKind kind) {
  switch (kind) {
    case air::ArgumentKind::kThreadPositionInGrid:
    case air::ArgumentKind::kThreadPositionInThreadgroup:
    case air::ArgumentKind::kThreadIndexInThreadgroup:
    case air::ArgumentKind::kThreadIndexInSimdgroup:
    case air::ArgumentKind::kThreadIndexInQuadgroup:
    case air::ArgumentKind::kSimdgroupIndexInThreadgroup:
    case air::ArgumentKind::kQuadgroupIndexInThreadgroup:
      return true;
    default:
      return false;
  }
}

unsigned axes_of(const llvm::Type* type) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector == nullptr ? 1 : vector->getNumElements();
}

Form single(const Symbol& symbol) {
  Form form;
  form.terms[symbol] = 1;
  return form;
}

// The thread's index in its threadgroup.
Form index_in_threadgroup() {
  Form form = single(kLane);
  form.terms[kSimdgroup] = abi::kLanes;
  return form;
}

}  // namespace

Form& Form::add(const Form& other, std::int64_t factor) {
  constant += factor * other.constant;
  for (const auto& [symbol, coefficient] : other.terms) {
    std::int64_t& own = terms[symbol];
    own += factor * coefficient;
    if (own == 0) terms.erase(symbol);
  }
  return *this;
}

Form substituted(const Form& form, const Equalities& equalities) {
  Form result;
  result.constant = form.constant;
  for (const auto& [symbol, coefficient] : form.terms) {
    const auto known = equalities.find(symbol);
    if (known == equalities.end()) {
      result.terms[symbol] = coefficient;
    } else {
      result.constant += coefficient * known->second;
    }
  }
  return result;
}

ThreadValues::ThreadValues(const Kernel& kernel) : kernel_(kernel), dominators_(kernel.function) {
  for (const air::Argument& argument : kernel.signature.arguments) {
    const bool position = argument.kind == air::ArgumentKind::kThreadPositionInThreadgroup ||
                          argument.kind == air::ArgumentKind::kThreadPositionInGrid;
    if (position && axes_of(kernel.function.getArg(argument.parameter)->getType()) > 1) several_axes_ = true;
  }
}

std::int64_t ThreadValues::most(const Symbol& symbol) const {
  if (symbol == kLane) return abi::kLanes - 1;
  const std::int64_t threads = kernel_.signature.max_total_threads.value_or(abi::kMostThreads);
  return symbol == kSimdgroup ? (threads - 1) / static_cast<std::int64_t>(abi::kLanes) : threads - 1;
}

std::optional<Form> ThreadValues::root_of(const llvm::Value* value, unsigned component) const {
  const auto* parameter = llvm::dyn_cast<llvm::Argument>(value);
  if (parameter == nullptr) return std::nullopt;
  switch (kernel_.signature.arguments[parameter->getArgNo()].kind) {
    case air::ArgumentKind::kThreadIndexInSimdgroup:
      return single(kLane);
    case air::ArgumentKind::kSimdgroupIndexInThreadgroup:
      return single(kSimdgroup);
    case air::ArgumentKind::kThreadIndexInThreadgroup:
      if (several_axes_) return std::nullopt;
      return index_in_threadgroup();
    case air::ArgumentKind::kThreadPositionInThreadgroup:
      return several_axes_ ? single(position_symbol(component)) : index_in_threadgroup();
    case air::ArgumentKind::kThreadPositionInGrid: {
      // That of the threadgroup's first thread, of which no more is known than that all have the same, and its own.
      Form form = several_axes_ ? single(position_symbol(component)) : index_in_threadgroup();
      form.terms[{&kernel_.function, component}] = 1;
      return form;
    }
    default:
      return std::nullopt;
  }
}

Form ThreadValues::form_of(const llvm::Value* value) { return read(value, 0); }

// `form` as divisor * first + second, where second is less than the divisor, if it has that shape.
std::optional<std::pair<Form, Form>> ThreadValues::split(const Form& form, std::int64_t divisor) const {
  std::pair<Form, Form> parts;
  if (form.constant < 0) return std::nullopt;
  parts.first.constant = form.constant / divisor;
  parts.second.constant = form.constant % divisor;
  std::int64_t largest = parts.second.constant;
  for (const auto& [symbol, coefficient] : form.terms) {
    if (coefficient % divisor == 0) {
      parts.first.terms[symbol] = coefficient / divisor;
      continue;
    }
    if (!is_thread_number(symbol) || coefficient < 0) return std::nullopt;
    parts.second.terms[symbol] = coefficient;
    largest += coefficient * most(symbol);
  }
  if (largest >= divisor) return std::nullopt;
  return parts;
}

Form ThreadValues::read(const llvm::Value* value, unsigned depth) {
  const Form opaque = single({value, 0});
  if (depth > kDeepest) return opaque;
  if (const auto root = root_of(value, 0)) return *root;
  const llvm::Value* a = nullptr;
  const llvm::Value* b = nullptr;
  const llvm::APInt* number = nullptr;
  std::uint64_t component = 0;
  if (match(value, m_APInt(number))) {
    Form form;
    form.constant = number->getSignificantBits() <= 64 ? number->getSExtValue() : 0;
    return form;
  }
  if (match(value, m_ZExtOrSExt(m_Value(a))) || match(value, m_Trunc(m_Value(a))) ||
      match(value, m_Freeze(m_Value(a)))) {
    return read(a, depth + 1);
  }
  if (match(value, m_ExtractElt(m_Value(a), m_ConstantInt(component)))) {
    return root_of(a, static_cast<unsigned>(component)).value_or(opaque);
  }
  if (match(value, m_AddLike(m_Value(a), m_Value(b)))) return read(a, depth + 1).add(read(b, depth + 1), 1);
  if (match(value, m_Sub(m_Value(a), m_Value(b)))) return read(a, depth + 1).add(read(b, depth + 1), -1);
  if (match(value, m_Mul(m_Value(a), m_APInt(number))) && number->isSignedIntN(32)) {
    return Form().add(read(a, depth + 1), number->getSExtValue());
  }
  if (match(value, m_Shl(m_Value(a), m_APInt(number))) && number->ult(32)) {
    return Form().add(read(a, depth + 1), std::int64_t{1} << number->getZExtValue());
  }
  if (match(value, m_LShr(m_Value(a), m_APInt(number))) && number->ult(32)) {
    const auto parts = split(read(a, depth + 1), std::int64_t{1} << number->getZExtValue());
    return parts ? parts->first : opaque;
  }
  if (match(value, m_And(m_Value(a), m_LowBitMask(number))) && number->isSignedIntN(32)) {
    const auto parts = split(read(a, depth + 1), number->getSExtValue() + 1);
    return parts ? parts->second : opaque;
  }
  return opaque;
}

bool ThreadValues::has_unknown_of_thread(const Form& form) {
  return std::ranges::any_of(form.terms, [&](const auto& term) {
    const llvm::Value* value = term.first.value;
    return value != nullptr && value != &kernel_.function && differs(value);
  });
}

bool ThreadValues::differs(const llvm::Value* value) {
  // Assumed the same until shown otherwise: a loop's own value asks for itself.
  const auto [known, fresh] = differs_.try_emplace(value, false);
  if (!fresh) return known->second;
  const bool result = compute_differs(value);
  differs_[value] = result;
  return result;
}

bool ThreadValues::compute_differs(const llvm::Value* value) {
  if (const auto* parameter = llvm::dyn_cast<llvm::Argument>(value)) {
    return is_of_thread(kernel_.signature.arguments[parameter->getArgNo()].kind);
  }
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction == nullptr) return false;
  // A thread's own memory, and what atomics return, may be anything.
  if (llvm::isa<llvm::AllocaInst, llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst>(instruction)) return true;
  if (const auto* call = llvm::dyn_cast<llvm::CallInst>(instruction)) {
    const llvm::Function* callee = call->getCalledFunction();
    if (callee == nullptr || callee->getName().starts_with("air.atomic")) return true;
  }
  if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(instruction)) {
    const auto* node = dominators_.getNode(phi->getParent());
    const auto* above = node == nullptr || node->getIDom() == nullptr ? nullptr : node->getIDom()->getBlock();
    const auto* branch = above == nullptr ? nullptr : llvm::dyn_cast<llvm::BranchInst>(above->getTerminator());
    if (branch != nullptr && branch->isConditional() && differs(branch->getCondition())) return true;
  }
  return std::ranges::any_of(instruction->operands(), [&](const llvm::Use& use) { return differs(use.get()); });
}

std::vector<Guard> ThreadValues::guards_of(const llvm::BasicBlock* block) {
  std::vector<Guard> guards;
  for (const auto* node = dominators_.getNode(block); node != nullptr && node->getIDom() != nullptr;
       node = node->getIDom()) {
    const llvm::BasicBlock* above = node->getIDom()->getBlock();
    const auto* branch = llvm::dyn_cast<llvm::BranchInst>(above->getTerminator());
    if (branch == nullptr || !branch->isConditional()) continue;
    for (unsigned i = 0; i < 2; ++i) {
      if (!dominators_.dominates(llvm::BasicBlockEdge(above, branch->getSuccessor(i)), block)) continue;
      guards.push_back({branch->getCondition(), i == 0, differs(branch->getCondition())});
    }
  }
  return guards;
}

Equalities ThreadValues::equalities_of(const std::vector<Guard>& guards) {
  Equalities equalities;
  for (const Guard& guard : guards) add_equalities(guard.condition, guard.taken, equalities);
  return equalities;
}

void ThreadValues::add_equalities(const llvm::Value* condition, bool taken, Equalities& equalities) {
  const llvm::Value* a = nullptr;
  const llvm::Value* b = nullptr;
  if (taken ? match(condition, m_LogicalAnd(m_Value(a), m_Value(b)))
            : match(condition, m_LogicalOr(m_Value(a), m_Value(b)))) {
    add_equalities(a, taken, equalities);
    add_equalities(b, taken, equalities);
    return;
  }
  if (match(condition, m_Not(m_Value(a)))) return add_equalities(a, !taken, equalities);
  const auto* comparison = llvm::dyn_cast<llvm::ICmpInst>(condition);
  if (comparison == nullptr || !comparison->getOperand(0)->getType()->isIntegerTy()) return;
  const auto predicate = taken ? comparison->getPredicate() : comparison->getInversePredicate();
  const llvm::Value* left = comparison->getOperand(0);
  const llvm::Value* right = comparison->getOperand(1);
  if (predicate == llvm::CmpInst::ICMP_EQ) {
    if (match(right, m_Zero()) && match(left, m_Or(m_Value(a), m_Value(b)))) {
      add_zero(form_of(a), equalities);
      add_zero(form_of(b), equalities);
    } else {
      add_zero(form_of(left).add(form_of(right), -1), equalities);
    }
  }
  const Form bound = form_of(right);
  if (!bound.is_constant()) return;
  if (predicate == llvm::CmpInst::ICMP_ULT || predicate == llvm::CmpInst::ICMP_SLT) {
    add_below(form_of(left), bound.constant, equalities);
  } else if (predicate == llvm::CmpInst::ICMP_ULE || predicate == llvm::CmpInst::ICMP_SLE) {
    add_below(form_of(left), bound.constant + 1, equalities);
  }
}

// A sum of numbers that are not negative is zero where each is.
void ThreadValues::add_zero(const Form& form, Equalities& equalities) const {
  const bool of_threads =
      std::ranges::all_of(form.terms, [](const auto& term) { return is_thread_number(term.first); });
  if (!of_threads || form.terms.empty()) return;
  const std::int64_t sign = form.terms.begin()->second < 0 ? -1 : 1;
  std::int64_t rest = -form.constant * sign;
  // From the coarsest number on: 33 is lane 1 of simdgroup 1.
  std::vector<std::pair<std::int64_t, Symbol>> terms;
  for (const auto& [symbol, coefficient] : form.terms) terms.emplace_back(coefficient * sign, symbol);
  std::ranges::sort(terms, std::greater{});
  if (rest < 0 || terms.back().first <= 0) return;
  Equalities found;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const auto& [coefficient, symbol] = terms[i];
    std::int64_t below = 0;
    for (std::size_t j = i + 1; j < terms.size(); ++j) below += terms[j].first * most(terms[j].second);
    if (rest != 0 && below >= coefficient) return;
    found[symbol] = rest / coefficient;
    rest %= coefficient;
  }
  if (rest == 0) equalities.insert(found.begin(), found.end());
}

void ThreadValues::add_below(const Form& form, std::int64_t bound, Equalities& equalities) const {
  if (form.constant < 0) return;
  for (const auto& [symbol, coefficient] : form.terms) {
    if (!is_thread_number(symbol) || coefficient < 0) return;
  }
  for (const auto& [symbol, coefficient] : form.terms) {
    if (coefficient >= bound - form.constant) equalities.try_emplace(symbol, 0);
  }
}

}  // namespace anymps::metal::lint
