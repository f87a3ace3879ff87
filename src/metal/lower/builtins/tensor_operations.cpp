// "__tensorops_impl_...": cooperative tensors, whose elements each thread finds by itself, and the operations on them,
// which threads do together (abi/tensor_operation.h). The functions are those that Apple's MetalPerformancePrimitives
// call, in the versions that PyTorch's libraries have.
#include <llvm/Analysis/ConstantFolding.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <cstddef>
#include <optional>

#include "metal/abi/tensor_operation.h"
#include "metal/lower/builtins/builtin_lowering.h"
#include "metal/lower/support/counted_loop.h"
#include "metal/lower/support/type_pattern.h"

namespace anymps::metal::lower::builtins {
namespace {

constexpr llvm::StringLiteral kPrefix = "__tensorops_impl_";
constexpr llvm::StringLiteral kMatmulTensor = "matmul2d_op_cooperative_tensor_";
constexpr llvm::StringLiteral kMatmulRun = "matmul2d_op_run_";
constexpr llvm::StringLiteral kConvolutionTensor = "conv2d_cooperative_destination_";
constexpr llvm::StringLiteral kConvolutionRun = "convolution2d_op_run_cooperative_";

// Parameters of the functions of a product's cooperative tensors, which all begin with an operand's number and the
// descriptor: m, n, k, three truths and the mode.
enum Common : unsigned { kOperand, kM, kN, kK, kTransposeLeft, kTransposeRight, kRelaxed, kMode, kCommon };
#define ANYMPS_COMMON "iiiibbbi"

// One function with parameters that a call must say as a constant.
struct Required {
  unsigned parameter;
  std::uint64_t value;
  const char* otherwise;
};
constexpr const char* kHandle = "it has a tensor handle, which is not known here";
constexpr const char* kIndexType = "it asks for coordinates that are not of 32 bits";

struct Function {
  llvm::StringLiteral name;
  llvm::StringLiteral pattern;
  std::optional<Required> required = std::nullopt;
};
constexpr Function kMatmulFunctions[] = {
    {"data_size", "l" ANYMPS_COMMON "iiii"},
    {"init", "v" ANYMPS_COMMON "piiii"},
    {"num_elements", "s" ANYMPS_COMMON "piii"},
    {"get_element_pointer", "p" ANYMPS_COMMON "psiii"},
    {"is_valid_element", "o" ANYMPS_COMMON "psiiii"},
    {"get_coordinate", "v" ANYMPS_COMMON "pspiiiii", Required{kCommon + 3, abi::kInt32Code, kIndexType}},
    {"load_", "v" ANYMPS_COMMON "ppiiiiii", Required{kCommon + 2, abi::kInlineTensor, kHandle}},
    {"store_", "v" ANYMPS_COMMON "ppiiiii", Required{kCommon + 2, abi::kInlineTensor, kHandle}},
};
constexpr Function kConvolutionFunctions[] = {
    {"data_size", "lpiiii"},
    {"tensor_init", "vppiiii"},
    {"tensor_num_elements", "sppiiii"},
    {"tensor_elements", "ppsii"},
    {"tensor_get_coordinate", "vppsipiiiii", Required{5, abi::kInt32Code, kIndexType}},
    {"tensor_destory", "vppi"},  // as Apple spells it
};
#undef ANYMPS_COMMON

std::string pattern_of(const Declared& declared) {
  llvm::SmallVector<llvm::Type*> types;
  for (const llvm::Value* argument : declared.arguments) types.push_back(argument->getType());
  return support::type_pattern(*llvm::FunctionType::get(declared.result, types, false));
}

const Function* function_named(llvm::ArrayRef<Function> functions, llvm::StringRef name) {
  for (const Function& function : functions) {
    const bool has_types = function.name.ends_with("_");
    if (has_types ? name.starts_with(function.name) : name == function.name) return &function;
  }
  return nullptr;
}
const Function* function_called(llvm::StringRef name) {
  if (!name.consume_front(kPrefix)) return nullptr;
  if (name.consume_front(kMatmulTensor)) return function_named(kMatmulFunctions, name);
  if (name.consume_front(kConvolutionTensor)) return function_named(kConvolutionFunctions, name);
  return nullptr;
}

// "dv_f16": a tensor of halves in device memory; "f16": a cooperative tensor.
struct OperandName {
  abi::TensorOperand::Where where = abi::TensorOperand::Where::kCooperative;
  abi::TensorElement element = abi::TensorElement::kFloat;
  bool in_memory() const { return where == abi::TensorOperand::Where::kMemory; }
};
std::optional<OperandName> take_operand(llvm::StringRef& name) {
  OperandName operand;
  for (const llvm::StringRef space : {"dv_", "tg_"}) {
    if (name.consume_front(space)) operand.where = abi::TensorOperand::Where::kMemory;
  }
  const auto [type, rest] = name.split('_');
  const auto element = abi::tensor_element_named({type.data(), type.size()});
  if (!element) return std::nullopt;
  operand.element = *element;
  name = rest;
  return operand;
}
struct RunName {
  abi::TensorCall::Kind kind = abi::TensorCall::Kind::kMatmul2d;
  std::array<OperandName, 3> operands;

  bool has_cooperative_input() const { return !operands[0].in_memory() || !operands[1].in_memory(); }
  // What its function is given: the descriptor, operands with how they are described, the threads of the scope.
  std::string pattern() const {
    std::string pattern = "vp";
    for (const OperandName& operand : operands) pattern += operand.in_memory() ? "pi" : "p";
    return pattern + (kind == abi::TensorCall::Kind::kConvolution2d ? "ip" : "i");
  }
};
std::optional<RunName> run_called(llvm::StringRef name) {
  RunName run;
  if (!name.consume_front(kPrefix)) return std::nullopt;
  bool cooperative = true;
  if (name.consume_front(kConvolutionRun)) {
    run.kind = abi::TensorCall::Kind::kConvolution2d;
  } else if (name.consume_front(kMatmulRun)) {
    cooperative = name.consume_front("cooperative_");
  } else {
    return std::nullopt;
  }
  for (OperandName& operand : run.operands) {
    const auto taken = take_operand(name);
    if (!taken) return std::nullopt;
    operand = *taken;
  }
  if (!name.empty() || run.operands[2].in_memory() == cooperative) return std::nullopt;
  const bool convolution = run.kind == abi::TensorCall::Kind::kConvolution2d;
  if (convolution && (run.has_cooperative_input() || run.operands[2].element != abi::TensorElement::kFloat))
    return std::nullopt;
  return run;
}

// The rows and columns of a matrix, as it is stored, how many threads share it, and whether it is stored transposed.
struct Shape {
  llvm::Value* rows;
  llvm::Value* columns;
  llvm::Value* threads;
  llvm::Value* transposed = nullptr;  // never
};

// abi::CooperativeLayout, written as code.
class LayoutWriter {
 public:
  LayoutWriter(llvm::IRBuilder<>& builder, const Shape& shape) : b_(builder), shape_(shape) {
    alone_ = b_.CreateICmpULT(shape.threads, number(abi::kLanes));
    simdgroups_ = b_.CreateSelect(alone_, number(1), b_.CreateUDiv(shape.threads, number(abi::kLanes)));
    turned_ =
        quads_ || shape.transposed == nullptr ? b_.getFalse() : b_.CreateAnd(shape.transposed, b_.CreateNot(alone_));
    fragment_columns_ = fragments_of(b_.CreateSelect(turned_, shape.rows, shape.columns));
    llvm::Value* fragments =
        b_.CreateMul(fragments_of(b_.CreateSelect(turned_, shape.columns, shape.rows)), fragment_columns_);
    own_fragments_ = b_.CreateUDiv(b_.CreateAdd(fragments, b_.CreateSub(simdgroups_, number(1))), simdgroups_);
  }

  llvm::Value* capacity() {
    return b_.CreateSelect(alone_, b_.CreateMul(shape_.rows, shape_.columns),
                           b_.CreateMul(own_fragments_, number(Layout::kSlots)));
  }

  struct Coordinate {
    llvm::Value* column;
    llvm::Value* row;
  };
  // Of this thread's element.
  Coordinate at(llvm::Value* slot) {
    llvm::Value* lane = place(kIndexInSimdgroup);
    llvm::Value* simdgroup = b_.CreateURem(place(kSimdgroupIndex), simdgroups_);
    llvm::Value* fragment = b_.CreateAdd(b_.CreateMul(simdgroup, own_fragments_), shifted(slot, 3));
    llvm::Value* fragment_column = b_.CreateURem(fragment, fragment_columns_);
    // Rows of fragments have two halves of eight rows.
    llvm::Value* half =
        b_.CreateAdd(b_.CreateMul(b_.CreateUDiv(fragment, fragment_columns_), number(2)), bits(shifted(slot, 2), 1));
    llvm::Value* column = b_.CreateOr(bits(shifted(lane, 2), 2), bits(lane, 1));
    if (quads_) {
      column = b_.CreateAdd(b_.CreateMul(column, number(4)), bits(slot, 3));
    } else {
      column = b_.CreateAdd(b_.CreateMul(column, number(2)), bits(slot, 1));
      column = b_.CreateAdd(column, b_.CreateMul(bits(shifted(slot, 1), 1), number(Layout::kFragment / 2)));
      llvm::Value* run = shifted(slot, 2);
      llvm::Value* in_turn = b_.CreateICmpEQ(simdgroups_, number(1));
      fragment_column = b_.CreateSelect(in_turn, b_.CreateURem(run, fragment_columns_), fragment_column);
      half = b_.CreateSelect(in_turn, b_.CreateUDiv(run, fragment_columns_), half);
    }
    column = b_.CreateAdd(column, b_.CreateMul(fragment_column, number(Layout::kFragment)));
    llvm::Value* row = b_.CreateOr(bits(shifted(lane, 2), 4), bits(shifted(lane, 1), 3));
    row = b_.CreateAdd(row, b_.CreateMul(half, number(Layout::kFragment / 2)));
    const auto chosen = [&](llvm::Value* own, llvm::Value* other, llvm::Value* of_one) {
      return b_.CreateSelect(alone_, of_one, b_.CreateSelect(turned_, other, own));
    };
    return {.column = chosen(column, row, b_.CreateURem(slot, shape_.columns)),
            .row = chosen(row, column, b_.CreateUDiv(slot, shape_.columns))};
  }
  llvm::Value* simdgroup() { return b_.CreateURem(place(kSimdgroupIndex), simdgroups_); }

 private:
  using Layout = abi::CooperativeLayout;
  static_assert(Layout::kSlots == 8 && Layout::kRun == 4);

  llvm::Value* number(std::uint32_t value) { return b_.getInt32(value); }
  llvm::Value* shifted(llvm::Value* value, unsigned by) { return b_.CreateLShr(value, by); }
  llvm::Value* bits(llvm::Value* value, unsigned mask) { return b_.CreateAnd(value, mask); }
  llvm::Value* fragments_of(llvm::Value* extent) {
    return b_.CreateUDiv(b_.CreateAdd(extent, number(Layout::kFragment - 1)), number(Layout::kFragment));
  }
  // A number of this thread's that the kernel is given.
  llvm::Value* place(llvm::StringRef function) {
    llvm::Module& module = *b_.GetInsertBlock()->getModule();
    llvm::FunctionCallee callee =
        module.getOrInsertFunction((function + ".i32").str(), llvm::FunctionType::get(b_.getInt32Ty(), false));
    auto* declared = llvm::dyn_cast<llvm::Function>(callee.getCallee());
    if (declared != nullptr) {
      declared->setDoesNotThrow();
      declared->setDoesNotAccessMemory();
      declared->setWillReturn();
    }
    return b_.CreateCall(callee);
  }

  llvm::IRBuilder<>& b_;
  const Shape shape_;
  const bool quads_ = abi::fragment_order() == abi::FragmentOrder::kQuads;
  llvm::Value* alone_;
  llvm::Value* turned_;
  llvm::Value* simdgroups_;
  llvm::Value* fragment_columns_;
  llvm::Value* own_fragments_;  // of this simdgroup
};

class OperationWriter {
 public:
  OperationWriter(llvm::IRBuilder<>& builder, const Declared& declared)
      : b_(builder), d_(declared), a_(declared.arguments) {}

  Written write(llvm::Value*& value) {
    llvm::StringRef name = d_.operation;
    if (const auto run = run_called(name))
      return pattern_of(d_) == run->pattern() ? write_run(*run) : Written::kNotMine;
    const Function* function = function_called(name);
    if (function == nullptr || pattern_of(d_) != function->pattern) return Written::kNotMine;
    name.consume_front(kPrefix);
    if (name.consume_front(kMatmulTensor)) return matmul(name, value);
    name.consume_front(kConvolutionTensor);
    return convolution(name, value);
  }

 private:
  // --- What the functions of both kinds are made of.

  llvm::Value* number(std::uint64_t value) { return b_.getInt32(static_cast<std::uint32_t>(value)); }
  llvm::Value* wide(llvm::Value* value) { return b_.CreateZExt(value, b_.getInt64Ty()); }
  llvm::Value* narrow(llvm::Value* value) { return b_.CreateZExtOrTrunc(value, b_.getInt32Ty()); }
  llvm::Value* at_byte(llvm::Value* pointer, llvm::Value* offset) {
    return b_.CreateGEP(b_.getInt8Ty(), pointer, offset);
  }
  llvm::Value* at_byte(llvm::Value* pointer, std::uint64_t offset) { return at_byte(pointer, b_.getInt64(offset)); }
  llvm::Value* bytes_of_code(llvm::Value* code) { return b_.CreateLShr(b_.CreateAnd(code, 0xff), 3); }

  llvm::Value* data_size(const Shape& shape, llvm::Value* code) {
    return b_.CreateAdd(b_.CreateMul(wide(LayoutWriter(b_, shape).capacity()), wide(bytes_of_code(code))),
                        b_.getInt64(sizeof(abi::CooperativeTensorHeader)));
  }
  void init(const Shape& shape, llvm::Value* tensor) {
    b_.CreateStore(shape.columns, at_byte(tensor, offsetof(abi::CooperativeTensorHeader, valid_columns)));
    b_.CreateStore(shape.rows, at_byte(tensor, offsetof(abi::CooperativeTensorHeader, valid_rows)));
  }
  // Of the whole tensor for index -1.
  llvm::Value* element(llvm::Value* tensor, llvm::Value* index, llvm::Value* code) {
    llvm::Value* offset = b_.CreateMul(wide(index), wide(bytes_of_code(code)));
    offset = b_.CreateAdd(offset, b_.getInt64(sizeof(abi::CooperativeTensorHeader)));
    llvm::Value* all = b_.CreateICmpEQ(index, b_.getInt16(0xffff));
    return at_byte(tensor, b_.CreateSelect(all, b_.getInt64(0), offset));
  }
  // Whether the operand has it.
  llvm::Value* is_valid(const LayoutWriter::Coordinate& at, llvm::Value* tensor) {
    using Header = abi::CooperativeTensorHeader;
    llvm::Value* columns = b_.CreateLoad(b_.getInt32Ty(), at_byte(tensor, offsetof(Header, valid_columns)));
    llvm::Value* rows = b_.CreateLoad(b_.getInt32Ty(), at_byte(tensor, offsetof(Header, valid_rows)));
    return b_.CreateAnd(b_.CreateICmpULT(at.column, columns), b_.CreateICmpULT(at.row, rows));
  }
  void put(std::initializer_list<llvm::Value*> numbers, llvm::Value* to) {
    unsigned i = 0;
    for (llvm::Value* value : numbers) b_.CreateStore(value, b_.CreateConstGEP1_32(b_.getInt32Ty(), to, i++));
  }

  // --- Products.

  Written matmul(llvm::StringRef name, llvm::Value*& value) {
    constexpr unsigned kTensor = kCommon;
    constexpr unsigned kIndex = kTensor + 1;
    if (name == "data_size") {
      value = data_size(matrix(a_[kCommon + 3]), code(kCommon));
    } else if (name == "init") {
      init(matrix(a_[kTensor + 4]), a_[kTensor]);
    } else if (name == "num_elements") {
      value = b_.CreateTrunc(LayoutWriter(b_, matrix(a_[kTensor + 3])).capacity(), b_.getInt16Ty());
    } else if (name == "get_element_pointer") {
      value = element(a_[kTensor], a_[kIndex], code(kIndex + 1));
    } else if (name == "is_valid_element") {
      value = is_valid(LayoutWriter(b_, matrix(a_[kIndex + 4])).at(narrow(a_[kIndex])), a_[kTensor]);
    } else if (name == "get_coordinate") {
      const auto at = LayoutWriter(b_, matrix(a_[kIndex + 3])).at(narrow(a_[kIndex]));
      put({at.column, at.row}, a_[kIndex + 1]);
    } else {
      const bool is_load = name.consume_front("load_");
      name.consume_front("store_");
      const auto memory = take_operand(name);
      if (!memory || !name.empty() || !memory->in_memory()) return Written::kNotMine;
      transfer(is_load, *memory, matrix(a_.back()));
    }
    return Written::kDone;
  }

  // Of the operand with that number, as it is stored.
  Shape matrix(llvm::Value* threads) {
    const auto chosen = [&](llvm::Value* truth, llvm::Value* yes, llvm::Value* no) {
      return b_.CreateSelect(b_.CreateIsNotNull(truth), yes, no);
    };
    const auto of_operand = [&](llvm::Value* left, llvm::Value* right, llvm::Value* destination) {
      llvm::Value* input = b_.CreateSelect(b_.CreateIsNull(a_[kOperand]), left, right);
      return b_.CreateSelect(b_.CreateICmpEQ(a_[kOperand], number(2)), destination, input);
    };
    return {
        .rows =
            of_operand(chosen(a_[kTransposeLeft], a_[kK], a_[kM]), chosen(a_[kTransposeRight], a_[kN], a_[kK]), a_[kM]),
        .columns =
            of_operand(chosen(a_[kTransposeLeft], a_[kM], a_[kK]), chosen(a_[kTransposeRight], a_[kK], a_[kN]), a_[kN]),
        .threads = threads,
        .transposed = b_.CreateIsNotNull(of_operand(a_[kTransposeLeft], a_[kTransposeRight],
                                                    llvm::ConstantInt::getNullValue(a_[kTransposeLeft]->getType())))};
  }
  // The type of its elements, of three from parameter `first` on.
  llvm::Value* code(unsigned first) {
    llvm::Value* input = b_.CreateSelect(b_.CreateIsNull(a_[kOperand]), a_[first], a_[first + 1]);
    return b_.CreateSelect(b_.CreateICmpEQ(a_[kOperand], number(2)), a_[first + 2], input);
  }

  // Each thread's elements to or from a tensor in memory; what lies beyond it is zero, and not stored.
  void transfer(bool is_load, const OperandName& memory, const Shape& shape) {
    const auto number_of = [&](unsigned i) {  // of the tensor: extents, then strides
      return b_.CreateLoad(b_.getInt64Ty(),
                           at_byte(a_[kCommon + 1], sizeof(abi::TensorHeader) + i * sizeof(std::int64_t)));
    };
    llvm::Value* data = b_.CreateLoad(b_.getPtrTy(), a_[kCommon + 1]);
    const std::array<llvm::Value*, 4> numbers{number_of(0), number_of(1), number_of(2), number_of(3)};
    LayoutWriter layout(b_, shape);
    const unsigned bytes = bytes_of(memory.element);
    llvm::Type* type = b_.getIntNTy(bytes * 8);
    support::counted_loop(b_, number(0), layout.capacity(), number(1), [&](llvm::Value* slot) {
      const auto at = layout.at(slot);
      llvm::Value* column = wide(at.column);
      llvm::Value* row = wide(at.row);
      llvm::Value* there =
          b_.CreateAnd(b_.CreateICmpULT(at.column, shape.columns), b_.CreateICmpULT(at.row, shape.rows));
      there = b_.CreateAnd(there, b_.CreateICmpSLT(column, numbers[0]));
      there = b_.CreateAnd(there, b_.CreateICmpSLT(row, numbers[1]));
      llvm::Value* index = b_.CreateAdd(b_.CreateMul(column, numbers[2]), b_.CreateMul(row, numbers[3]));
      llvm::Value* outside = b_.CreateGEP(type, data, index);
      llvm::Value* own = b_.CreateGEP(type, at_byte(a_[kCommon], sizeof(abi::CooperativeTensorHeader)), wide(slot));
      if (is_load) b_.CreateStore(llvm::Constant::getNullValue(type), own);
      if_true(there, [&] { b_.CreateStore(b_.CreateLoad(type, is_load ? outside : own), is_load ? own : outside); });
    });
  }

  template <typename Body>
  void if_true(llvm::Value* condition, Body body) {
    llvm::Function* function = b_.GetInsertBlock()->getParent();
    auto* yes = llvm::BasicBlock::Create(b_.getContext(), "", function);
    auto* done = llvm::BasicBlock::Create(b_.getContext(), "", function);
    b_.CreateCondBr(condition, yes, done);
    b_.SetInsertPoint(yes);
    body();
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
  }

  // --- Convolutions: a matrix with a row for each pixel and a column for each channel.

  Written convolution(llvm::StringRef name, llvm::Value*& value) {
    if (name == "data_size") {
      value = data_size(pixels(a_[0], a_[4]), a_[1]);
    } else if (name == "tensor_init") {
      init(pixels(a_[1], a_[5]), a_[0]);
    } else if (name == "tensor_num_elements") {
      value = b_.CreateTrunc(LayoutWriter(b_, pixels(a_[0], a_[5])).capacity(), b_.getInt16Ty());
    } else if (name == "tensor_elements") {
      value = element(a_[0], a_[1], a_[2]);
    } else if (name == "tensor_get_coordinate") {
      const auto at = LayoutWriter(b_, pixels(a_[0], a_.back())).at(narrow(a_[2]));
      llvm::Value* width = dimension(a_[0], 1);
      llvm::Value* height = dimension(a_[0], 2);
      llvm::Value* line = b_.CreateUDiv(at.row, width);
      put({at.column, b_.CreateURem(at.row, width), b_.CreateURem(line, height), b_.CreateUDiv(line, height)}, a_[4]);
    }
    return Written::kDone;
  }

  llvm::Value* dimension(llvm::Value* descriptor, unsigned i) {
    return b_.CreateLoad(b_.getInt32Ty(), b_.CreateConstGEP1_32(b_.getInt32Ty(), descriptor, i));
  }
  Shape pixels(llvm::Value* descriptor, llvm::Value* threads) {
    llvm::Value* rows = b_.CreateMul(dimension(descriptor, 1), dimension(descriptor, 2));
    return {
        .rows = b_.CreateMul(rows, dimension(descriptor, 3)), .columns = dimension(descriptor, 0), .threads = threads};
  }

  // --- Operations, which threads do together.

  Written write_run(const RunName& run) {
    using abi::TensorCall;
    using abi::TensorOperand;
    llvm::Value* call =
        b_.CreateAlloca(llvm::ArrayType::get(b_.getInt64Ty(), sizeof(TensorCall) / sizeof(std::uint64_t)));
    const auto set = [&](std::size_t offset, llvm::Value* value) { b_.CreateStore(value, at_byte(call, offset)); };
    unsigned next = 0;
    set(offsetof(TensorCall, descriptor), a_[next++]);
    const std::size_t places[] = {offsetof(TensorCall, left), offsetof(TensorCall, right),
                                  offsetof(TensorCall, destination)};
    for (unsigned i = 0; i < run.operands.size(); ++i) {
      const OperandName& operand = run.operands[i];
      set(places[i] + offsetof(TensorOperand, data), a_[next++]);
      set(places[i] + offsetof(TensorOperand, where), number(static_cast<std::uint32_t>(operand.where)));
      set(places[i] + offsetof(TensorOperand, element), number(static_cast<std::uint32_t>(operand.element)));
      if (operand.in_memory()) ++next;
    }
    llvm::Value* threads = a_[next++];
    const bool convolution = run.kind == TensorCall::Kind::kConvolution2d;
    set(offsetof(TensorCall, offsets), convolution ? a_[next] : llvm::Constant::getNullValue(b_.getPtrTy()));
    set(offsetof(TensorCall, kind), number(static_cast<std::uint32_t>(run.kind)));
    set(offsetof(TensorCall, threads), threads);
    set(offsetof(TensorCall, simdgroup), LayoutWriter(b_, {number(1), number(1), threads}).simdgroup());
    llvm::Module& module = *b_.GetInsertBlock()->getModule();
    auto* together = llvm::cast<llvm::Function>(
        module
            .getOrInsertFunction(kTensorOperation,
                                 llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy()}, /*isVarArg=*/false))
            .getCallee());
    together->setConvergent();
    together->setDoesNotThrow();
    b_.CreateCall(together, {call});
    return Written::kDone;
  }

  llvm::IRBuilder<>& b_;
  const Declared& d_;
  const llvm::ArrayRef<llvm::Value*> a_;
};

// --- What calls must say.

bool is_constant(const llvm::CallInst& call, unsigned parameter, std::uint64_t value) {
  if (parameter >= call.arg_size()) return false;
  const auto* number = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(parameter));
  return number != nullptr && number->getZExtValue() == value;
}

// One simdgroup or less.
bool is_small_scope(const llvm::Value& threads) {
  if (const auto* number = llvm::dyn_cast<llvm::ConstantInt>(&threads)) return number->getZExtValue() <= abi::kLanes;
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&threads);
  const llvm::Function* function = call == nullptr ? nullptr : call->getCalledFunction();
  return function != nullptr && function->getName().starts_with("air.get_simdgroup_size");
}

// A convolution's descriptor, of which only what PyTorch's kernels say is known: NHWC and HWIO, in one group.
bool is_known_convolution(const llvm::Value& descriptor) {
  const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(&descriptor);
  if (variable == nullptr || !variable->isConstant() || !variable->hasInitializer()) return false;
  const auto is = [&](std::size_t offset, std::uint64_t value) {
    const llvm::Module& module = *variable->getParent();
    llvm::Type* type = llvm::Type::getInt32Ty(module.getContext());
    const auto* number = llvm::dyn_cast_or_null<llvm::ConstantInt>(
        llvm::ConstantFoldLoadFromConst(const_cast<llvm::Constant*>(variable->getInitializer()), type,
                                        llvm::APInt(64, offset), module.getDataLayout()));
    return number != nullptr && number->getZExtValue() == value;
  };
  using Descriptor = abi::Convolution2dDescriptor;
  return is(offsetof(Descriptor, activation_layout), 0) && is(offsetof(Descriptor, weights_layout), 0) &&
         is(offsetof(Descriptor, groups), 1);
}

std::string refusal_of(const llvm::CallInst& call) {
  llvm::StringRef name = call.getCalledFunction()->getName();
  if (const auto run = run_called(name)) {
    const bool convolution = run->kind == abi::TensorCall::Kind::kConvolution2d;
    if (call.arg_size() + 1 != run->pattern().size()) return "";  // and so it is not known
    unsigned next = 1;
    for (const OperandName& operand : run->operands) {
      ++next;
      if (operand.in_memory() && !is_constant(call, next++, abi::kInlineTensor)) return kHandle;
    }
    if (!convolution && run->has_cooperative_input() && !is_small_scope(*call.getArgOperand(next)))
      return "it multiplies cooperative tensors of several simdgroups";
    return "";
  }
  const Function* function = function_called(name);
  if (function == nullptr) return "";
  if (function->required && !is_constant(call, function->required->parameter, function->required->value))
    return function->required->otherwise;
  if (name.ends_with("conv2d_cooperative_destination_data_size") && call.arg_size() != 0 &&
      !is_known_convolution(*call.getArgOperand(0)))
    return "it has a convolution of a layout or of groups that are not known here";
  return "";
}

}  // namespace

std::string lower_tensor_operations(llvm::Module& module) {
  for (const llvm::Function& function : module) {
    if (!function.isDeclaration() || !function.getName().starts_with(kPrefix)) continue;
    for (const llvm::User* user : function.users()) {
      const auto* call = llvm::dyn_cast<llvm::CallInst>(user);
      if (call == nullptr || call->getCalledOperand() != &function) continue;
      if (std::string why = refusal_of(*call); !why.empty()) return why;
    }
  }
  define_builtins(module, [](llvm::IRBuilder<>& builder, const Declared& declared, llvm::Value*& value) {
    return OperationWriter(builder, declared).write(value);
  });
  return "";
}

}  // namespace anymps::metal::lower::builtins
