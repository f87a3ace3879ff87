#include "metal/interpret/memory.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <new>

#include "metal/air/signature.h"
#include "metal/pipeline/kernel_error.h"

namespace anymps::metal::interpret {
namespace {

constexpr std::align_val_t kVectorAlignment{256};  // of the largest vector, an 8x8 matrix of floats

std::string type_text(const llvm::Type& type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  type.print(stream, false, true);
  return text;
}

// In memory LLVM packs its bits, which values here do not.
bool has_bit_vector(const llvm::Type* type) {
  if (const auto* vector = llvm::dyn_cast<llvm::VectorType>(type)) return vector->getElementType()->isIntegerTy(1);
  return std::ranges::any_of(type->subtypes(), [](const llvm::Type* part) { return has_bit_vector(part); });
}

}  // namespace

AlignedBytes::AlignedBytes(std::size_t size)
    : bytes_(static_cast<std::byte*>(::operator new(std::max<std::size_t>(size, 1), kVectorAlignment))), size_(size) {
  std::fill_n(bytes_.get(), size, kStale);
}

void AlignedBytes::Free::operator()(std::byte* bytes) const { ::operator delete(bytes, kVectorAlignment); }

ModuleMemory::ModuleMemory(const llvm::Module& module, const air::Signature& signature,
                           const abi::ConstantValues& constants)
    : layout_(module.getDataLayout()), kernel_(signature.kernel) {
  for (const llvm::GlobalVariable& global : module.globals()) {
    if (global.getName().starts_with("llvm.")) continue;
    if (has_bit_vector(global.getValueType())) refuse("a vector of bits in memory is not known here");
    globals_.emplace(&global, AlignedBytes(size_of(global.getValueType())));
  }
  for (const auto& [global, bytes] : globals_) {
    if (!global->hasInitializer()) refuse("nothing says what " + global->getName().str() + " holds");
    write(*global->getInitializer(), bytes.data());
    if (global->getAddressSpace() != air::kThreadgroupSpace) continue;
    AlignedBytes initial(bytes.size());
    std::copy_n(bytes.data(), bytes.size(), initial.data());
    threadgroup_.emplace_back(bytes.data(), std::move(initial));
  }
  for (const air::FunctionConstant& constant : signature.constants) {
    const auto given = constants.find(constant.id);
    const AlignedBytes& bytes = globals_.at(module.getNamedGlobal(constant.global));
    const std::uint64_t value = given == constants.end() ? 0 : given->second;
    if (bytes.size() > sizeof(value)) refuse("function constant " + constant.name + " is larger than 64 bits");
    write_bits(bytes.data(), static_cast<unsigned>(bytes.size()), value);
  }
}

void ModuleMemory::refuse(const std::string& why) const { throw pipeline::KernelError(kernel_ + ": " + why); }

Shape ModuleMemory::shape_of(const llvm::Type* type) const {
  if (type->isVoidTy()) return {};
  if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type)) {
    Shape shape = shape_of(vector->getElementType());
    shape.count = vector->getNumElements();
    return shape;
  }
  if (type->isHalfTy()) return {Kind::kHalf, 16, 2, 1};
  if (type->isBFloatTy()) return {Kind::kBfloat, 16, 2, 1};
  if (type->isFloatTy()) return {Kind::kFloat, 32, 4, 1};
  if (type->isPointerTy()) return {Kind::kPointer, 64, 8, 1};
  if (type->isIntegerTy(1)) return {Kind::kInteger, 1, 1, 1};
  for (const unsigned bits : {8U, 16U, 32U, 64U}) {
    if (type->isIntegerTy(bits)) return {Kind::kInteger, bits, bits / 8, 1};
  }
  if (type->isStructTy() || type->isArrayTy()) {
    if (has_bit_vector(type)) refuse("a vector of bits in memory is not known here");
    return {Kind::kAggregate, 0, static_cast<unsigned>(size_of(type)), 1};
  }
  refuse("a value of type " + type_text(*type) + " is not known here");
}

std::uint64_t ModuleMemory::size_of(const llvm::Type* type) const {
  return layout_.getTypeAllocSize(const_cast<llvm::Type*>(type)).getFixedValue();
}

std::uint64_t ModuleMemory::offset_of(const llvm::Type* aggregate, std::span<const unsigned> indices) const {
  std::uint64_t offset = 0;
  for (const unsigned index : indices) {
    if (const auto* structure = llvm::dyn_cast<llvm::StructType>(aggregate)) {
      offset += layout_.getStructLayout(const_cast<llvm::StructType*>(structure))->getElementOffset(index);
      aggregate = structure->getElementType(index);
    } else {
      aggregate = llvm::cast<llvm::ArrayType>(aggregate)->getElementType();
      offset += index * size_of(aggregate);
    }
  }
  return offset;
}

const std::byte* ModuleMemory::cell_of(const llvm::Constant& constant) {
  const auto found = cells_.find(&constant);
  if (found != cells_.end()) return found->second.data();
  AlignedBytes cell(shape_of(constant.getType()).bytes());
  // A value that may be anything is zero, so that two runs agree.
  std::fill_n(cell.data(), cell.size(), std::byte{});
  write(constant, cell.data());
  return cells_.emplace(&constant, std::move(cell)).first->second.data();
}

// What is undefined in a constant is left as it lies there.
void ModuleMemory::write(const llvm::Constant& constant, std::byte* to) {
  const llvm::Type* type = constant.getType();
  if (llvm::isa<llvm::UndefValue>(constant)) return;
  if (constant.isNullValue()) {
    std::fill_n(to, llvm::isa<llvm::VectorType>(type) ? shape_of(type).bytes() : size_of(type), std::byte{});
  } else if (const auto* integer = llvm::dyn_cast<llvm::ConstantInt>(&constant)) {
    write_bits(to, shape_of(type).element_bytes, integer->getZExtValue());
  } else if (const auto* real = llvm::dyn_cast<llvm::ConstantFP>(&constant)) {
    write_bits(to, shape_of(type).element_bytes, real->getValueAPF().bitcastToAPInt().getZExtValue());
  } else if (const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(&constant)) {
    write_bits(to, sizeof(void*), reinterpret_cast<std::uintptr_t>(globals_.at(global).data()));
  } else if (llvm::isa<llvm::ConstantDataSequential>(constant) || llvm::isa<llvm::ConstantAggregate>(constant)) {
    for (unsigned i = 0;; ++i) {
      const llvm::Constant* element = constant.getAggregateElement(i);
      if (element == nullptr) break;
      const bool vector = llvm::isa<llvm::VectorType>(type);
      write(*element, to + (vector ? i * shape_of(type).element_bytes : offset_of(type, {&i, 1})));
    }
  } else if (const auto* expression = llvm::dyn_cast<llvm::ConstantExpr>(&constant)) {
    const bool cast = expression->isCast() && shape_of(expression->getOperand(0)->getType()).bytes() == sizeof(void*);
    llvm::APInt offset(64, 0);
    if (const auto* address = llvm::dyn_cast<llvm::GEPOperator>(expression);
        !cast && (address == nullptr || !address->accumulateConstantOffset(layout_, offset))) {
      refuse(std::string("a constant ") + expression->getOpcodeName() + " is not known here");
    }
    write(*expression->getOperand(0), to);
    write_bits(to, sizeof(void*), read_bits(to, sizeof(void*)) + offset.getZExtValue());
  } else {
    refuse("a constant of type " + type_text(*type) + " is not known here");
  }
}

void ModuleMemory::begin_threadgroup() const {
  for (const auto& [variable, initial] : threadgroup_) std::copy_n(initial.data(), initial.size(), variable);
}

}  // namespace anymps::metal::interpret
