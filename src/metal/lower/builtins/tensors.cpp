// "air.<operation>_private_tensor.<index type>.<space>": tensors of a thread, as abi/tensor_layout.h lays them out.
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include "metal/abi/tensor_layout.h"
#include "metal/lower/builtins/builtin_lowering.h"
#include "metal/lower/support/counted_loop.h"
#include "metal/lower/support/type_pattern.h"

namespace anymps::metal::lower::builtins {
namespace {

constexpr std::uint64_t kWord = sizeof(std::int64_t);

class TensorWriter {
 public:
  TensorWriter(llvm::IRBuilder<>& builder, const Declared& declared)
      : b_(builder), d_(declared), a_(declared.arguments) {}

  Written write(llvm::Value*& value) {
    if (d_.operation == "get_descriptor_size_tensor" && is("sss")) {
      value = b_.CreateAdd(b_.CreateMul(a_[0], b_.getInt16(abi::tensor_bytes(1) - abi::tensor_bytes(0))),
                           b_.getInt16(abi::tensor_bytes(0)));
      return Written::kDone;
    }
    if (d_.operation == "init_strided_private_tensor" && is("vpspppb")) return init();
    if (d_.operation == "get_extent_private_tensor" && (is("ipss") || is("lpss"))) {
      value = b_.CreateTrunc(load(a_[0], b_.CreateZExt(a_[2], b_.getInt64Ty())), d_.result);
      return Written::kDone;
    }
    if (d_.operation == "slice_private_tensor_private_tensor" && is("vppspp")) return slice();
    return Written::kNotMine;
  }

 private:
  bool is(llvm::StringRef pattern) const {
    llvm::SmallVector<llvm::Type*> types;
    for (const llvm::Value* argument : a_) types.push_back(argument->getType());
    return support::type_pattern(*llvm::FunctionType::get(d_.result, types, false)) == pattern;
  }

  // The type of indices in memory, "s.i32": whether it has a sign, and its bits.
  struct Index {
    llvm::Type* type = nullptr;
    bool is_signed = true;
  };
  Index index_type() {
    llvm::StringRef name = d_.suffix.split(".global").first.split(".local").first;
    Index index{.is_signed = !name.consume_front("u.")};
    name.consume_front("s.");
    unsigned bits = 0;
    if (name.consume_front("i") && !name.consumeInteger(10, bits) && name.empty() && (bits == 32 || bits == 64))
      index.type = b_.getIntNTy(bits);
    return index;
  }
  llvm::Value* read(const Index& index, llvm::Value* from, llvm::Value* i) {
    llvm::Value* value = b_.CreateLoad(index.type, b_.CreateGEP(index.type, from, i));
    return index.is_signed ? b_.CreateSExt(value, b_.getInt64Ty()) : b_.CreateZExt(value, b_.getInt64Ty());
  }

  // Number `i` behind a tensor's header: extents, then strides.
  llvm::Value* place(llvm::Value* tensor, llvm::Value* i) {
    llvm::Value* numbers = b_.CreateConstGEP1_64(b_.getInt8Ty(), tensor, sizeof(abi::TensorHeader));
    return b_.CreateGEP(b_.getInt64Ty(), numbers, i);
  }
  llvm::Value* load(llvm::Value* tensor, llvm::Value* i) { return b_.CreateLoad(b_.getInt64Ty(), place(tensor, i)); }
  llvm::Value* element_bytes(llvm::Value* tensor) {
    return b_.CreateConstGEP1_64(b_.getInt8Ty(), tensor, offsetof(abi::TensorHeader, element_bytes));
  }

  template <typename Body>
  void each_dimension(llvm::Value* rank, Body body) {
    support::counted_loop(b_, b_.getInt32(0), b_.CreateZExt(rank, b_.getInt32Ty()), b_.getInt32(1),
                          [&](llvm::Value* i) { body(b_.CreateZExt(i, b_.getInt64Ty())); });
  }

  Written init() {
    const Index index = index_type();
    if (index.type == nullptr) return Written::kNotMine;
    b_.CreateStore(b_.CreateAddrSpaceCast(a_[2], b_.getPtrTy()), a_[0]);
    // A table of which each entry is four bits.
    std::uint64_t table = 0;
    for (unsigned type = 0; type < kWord * 2; ++type)
      table |= std::uint64_t{abi::bytes_of_tensor_type(type)} << 4 * type;
    llvm::Value* type = b_.CreateAnd(b_.CreateZExt(a_[5], b_.getInt64Ty()), 15);
    b_.CreateStore(b_.CreateAnd(b_.CreateLShr(b_.getInt64(table), b_.CreateShl(type, 2)), 15), element_bytes(a_[0]));
    llvm::Value* rank = b_.CreateZExt(a_[1], b_.getInt64Ty());
    each_dimension(a_[1], [&](llvm::Value* i) {
      b_.CreateStore(read(index, a_[3], i), place(a_[0], i));
      b_.CreateStore(read(index, a_[4], i), place(a_[0], b_.CreateAdd(i, rank)));
    });
    return Written::kDone;
  }

  Written slice() {
    const Index index = index_type();
    if (index.type == nullptr) return Written::kNotMine;
    llvm::Value* rank = b_.CreateZExt(a_[2], b_.getInt64Ty());
    llvm::Value* bytes = b_.CreateLoad(b_.getInt64Ty(), element_bytes(a_[1]));
    b_.CreateStore(b_.CreateLoad(b_.getPtrTy(), a_[1]), a_[0]);
    b_.CreateStore(bytes, element_bytes(a_[0]));
    each_dimension(a_[2], [&](llvm::Value* i) {
      llvm::Value* stride = load(a_[1], b_.CreateAdd(i, rank));
      llvm::Value* moved = b_.CreateMul(b_.CreateMul(read(index, a_[3], i), stride), bytes);
      b_.CreateStore(b_.CreateGEP(b_.getInt8Ty(), b_.CreateLoad(b_.getPtrTy(), a_[0]), moved), a_[0]);
      b_.CreateStore(read(index, a_[4], i), place(a_[0], i));
      b_.CreateStore(stride, place(a_[0], b_.CreateAdd(i, rank)));
    });
    return Written::kDone;
  }

  llvm::IRBuilder<>& b_;
  const Declared& d_;
  const llvm::ArrayRef<llvm::Value*> a_;
};

// Types of elements are told by number, at the calls.
std::string unknown_type(const llvm::Module& module) {
  constexpr unsigned kType = 5;
  for (const llvm::Function& function : module) {
    if (!function.isDeclaration() || !function.getName().starts_with("air.init_strided_private_tensor.")) continue;
    for (const llvm::User* user : function.users()) {
      const auto* call = llvm::dyn_cast<llvm::CallInst>(user);
      if (call == nullptr || call->arg_size() <= kType) continue;
      const auto* type = llvm::dyn_cast<llvm::ConstantInt>(call->getArgOperand(kType));
      if (type == nullptr || abi::bytes_of_tensor_type(type->getZExtValue()) == 0)
        return "it has a tensor of elements of a type that is not known here";
    }
  }
  return "";
}

}  // namespace

std::string lower_tensors(llvm::Module& module) {
  if (std::string why = unknown_type(module); !why.empty()) return why;
  define_builtins(module, [](llvm::IRBuilder<>& builder, const Declared& declared, llvm::Value*& value) {
    return TensorWriter(builder, declared).write(value);
  });
  return "";
}

}  // namespace anymps::metal::lower::builtins
