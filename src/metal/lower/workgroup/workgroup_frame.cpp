#include "metal/lower/workgroup/workgroup_frame.h"

#include <llvm/IR/Intrinsics.h>

#include "metal/abi/cooperative_op.h"
#include "metal/lower/support/counted_loop.h"

namespace anymps::metal::lower::workgroup {
namespace {

constexpr unsigned kGrid = 0;
constexpr unsigned kFull = 1;
constexpr unsigned kGroups = 2;

}  // namespace

WorkgroupBuilder::WorkgroupBuilder(llvm::Module& module, std::span<const support::Parameter> parameters,
                                   llvm::ArrayRef<llvm::Type*> more, unsigned memory)
    : module_(module), parameters_(parameters), b_(module.getContext()) {
  llvm::SmallVector<llvm::Type*> types = {b_.getPtrTy(), b_.getPtrTy(), b_.getInt32Ty(), b_.getInt32Ty(),
                                          b_.getInt32Ty()};
  types.append(more.begin(), more.end());
  run_ = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), types, false), llvm::Function::ExternalLinkage,
                                "run", module);
  run_->setDoesNotThrow();
  begin(memory);
}

WorkgroupBuilder::WorkgroupBuilder(llvm::Function* function, std::span<const support::Parameter> parameters,
                                   unsigned memory)
    : module_(*function->getParent()), parameters_(parameters), b_(function->getContext()), run_(function) {
  begin(memory);
}

void WorkgroupBuilder::begin(unsigned memory) {
  bindings_ = run_->getArg(0);
  geometry_ = run_->getArg(1);
  memory_ = run_->getArg(memory);
  b_.SetInsertPoint(llvm::BasicBlock::Create(module_.getContext(), "entry", run_));
  for (unsigned i = 0; i < 3; ++i) {
    group_[i] = run_->getArg(2 + i);
    grid_[i] = geometry_field(kGrid, i);
    full_[i] = geometry_field(kFull, i);
    groups_[i] = geometry_field(kGroups, i);
    first_[i] = b_.CreateMul(group_[i], full_[i], "", /*HasNUW=*/true);
    size_[i] = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, full_[i], b_.CreateSub(grid_[i], first_[i], "", true));
  }
  for (const support::Parameter& parameter : parameters_) {
    llvm::Value* pointer = nullptr;
    if (parameter.role == support::Role::kBuffer) pointer = bound(parameter.binding);
    if (parameter.role == support::Role::kThreadgroupBuffer) {
      pointer =
          b_.CreateInBoundsGEP(b_.getInt8Ty(), memory_, b_.CreatePtrToInt(bound(parameter.binding), b_.getInt64Ty()));
    }
    pointers_.push_back(pointer);
  }
}

llvm::Value* WorkgroupBuilder::geometry_field(unsigned field, unsigned axis) {
  auto* load =
      b_.CreateLoad(b_.getInt32Ty(), b_.CreateConstInBoundsGEP1_32(b_.getInt32Ty(), geometry_, field * 3 + axis));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(module_.getContext(), {}));
  return load;
}

llvm::Value* WorkgroupBuilder::bound(unsigned binding) {
  auto* load = b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_32(b_.getPtrTy(), bindings_, binding));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(module_.getContext(), {}));
  return load;
}

// uint, uint2, uint3 and their ushort forms.
llvm::Value* WorkgroupBuilder::shaped(llvm::Type* type, const Three& values) {
  llvm::Type* scalar = type->getScalarType();
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  if (vector == nullptr) return b_.CreateZExtOrTrunc(values[0], scalar);
  llvm::Value* result = llvm::PoisonValue::get(type);
  for (unsigned i = 0; i < vector->getNumElements(); ++i) {
    result = b_.CreateInsertElement(result, b_.CreateZExtOrTrunc(values[i], scalar), i);
  }
  return result;
}

// How many parts of `width` threads a threadgroup of that size has; the last may be smaller.
llvm::Value* WorkgroupBuilder::parts(const Three& size, unsigned width) {
  llvm::Value* threads = b_.CreateMul(size[0], b_.CreateMul(size[1], size[2]));
  return b_.CreateUDiv(b_.CreateAdd(threads, b_.getInt32(width - 1)), b_.getInt32(width));
}

llvm::Value* WorkgroupBuilder::value_of(const support::Parameter& parameter, llvm::Type* type, const Place& place) {
  llvm::Value* one = b_.getInt32(1);
  auto number = [&](llvm::Value* value) { return shaped(type, {value, one, one}); };
  switch (parameter.role) {
    case support::Role::kBuffer:
    case support::Role::kThreadgroupBuffer:
      return nullptr;
    case support::Role::kPositionInGrid:
      return shaped(type, place.position);
    case support::Role::kPositionInThreadgroup:
      return shaped(type, place.within);
    case support::Role::kThreadgroupPosition:
      return shaped(type, group_);
    case support::Role::kThreadgroupsPerGrid:
      return shaped(type, groups_);
    case support::Role::kThreadsPerGrid:
      return shaped(type, grid_);
    case support::Role::kThreadsPerThreadgroup:
      return shaped(type, size_);
    case support::Role::kFullThreadsPerThreadgroup:
      return shaped(type, full_);
    case support::Role::kIndexInThreadgroup:
      return number(place.index);
    case support::Role::kIndexInSimdgroup:
      return number(place.lane);
    case support::Role::kSimdgroupIndex:
      return number(place.simdgroup);
    case support::Role::kIndexInQuadgroup:
      return number(b_.CreateAnd(place.lane, 3));
    case support::Role::kQuadgroupIndex:
      return number(b_.CreateLShr(place.index, 2));
    case support::Role::kThreadsPerSimdgroup:
      return number(b_.getInt32(abi::kLanes));
    case support::Role::kSimdgroupsPerThreadgroup:
      return number(parts(size_, abi::kLanes));
    case support::Role::kQuadgroupsPerThreadgroup:
      return number(parts(size_, 4));
    case support::Role::kFullSimdgroupsPerThreadgroup:
      return number(parts(full_, abi::kLanes));
    case support::Role::kFullQuadgroupsPerThreadgroup:
      return number(parts(full_, 4));
  }
  return nullptr;
}

llvm::SmallVector<llvm::Value*> WorkgroupBuilder::arguments(llvm::Function* kernel, const Three& position) {
  Place place;
  place.position = position;
  for (unsigned i = 0; i < 3; ++i) place.within[i] = b_.CreateSub(position[i], first_[i], "", true);
  const Three& at = place.within;
  place.index = b_.CreateAdd(at[0], b_.CreateMul(size_[0], b_.CreateAdd(at[1], b_.CreateMul(size_[1], at[2]))));
  place.simdgroup = b_.CreateUDiv(place.index, b_.getInt32(abi::kLanes));
  place.lane = b_.CreateAnd(place.index, abi::kLanes - 1);
  return arguments(kernel, place);
}

llvm::SmallVector<llvm::Value*> WorkgroupBuilder::arguments(llvm::Function* kernel, const Place& place) {
  index_ = place.index;
  llvm::SmallVector<llvm::Value*> values;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    llvm::Type* type = kernel->getArg(static_cast<unsigned>(i))->getType();
    llvm::Value* value = pointers_[i];
    if (value == nullptr) {
      value = value_of(parameters_[i], type, place);
    } else if (value->getType() != type) {
      value = b_.CreateAddrSpaceCast(value, type);
    }
    values.push_back(value);
  }
  values.push_back(b_.CreateAddrSpaceCast(memory_, kernel->getArg(kernel->arg_size() - 1)->getType()));
  return values;
}

void WorkgroupBuilder::rows(llvm::function_ref<void(const Three& first, llvm::Value* last)> body) {
  const auto last = [&](unsigned i) { return b_.CreateAdd(first_[i], size_[i], "", true); };
  llvm::Value* one = b_.getInt32(1);
  support::counted_loop(b_, first_[2], last(2), one, [&](llvm::Value* z) {
    support::counted_loop(b_, first_[1], last(1), one, [&](llvm::Value* y) { body({first_[0], y, z}, last(0)); });
  });
  b_.CreateRetVoid();
}

void WorkgroupBuilder::loops(llvm::function_ref<void(const Three& position)> body, llvm::MDNode* parallel) {
  rows([&](const Three& first, llvm::Value* last) {
    llvm::BranchInst* round = support::counted_loop(b_, first[0], last, b_.getInt32(1),
                                                    [&](llvm::Value* x) { body({x, first[1], first[2]}); });
    if (parallel != nullptr) round->setMetadata(llvm::LLVMContext::MD_loop, parallel);
  });
}

}  // namespace anymps::metal::lower::workgroup
