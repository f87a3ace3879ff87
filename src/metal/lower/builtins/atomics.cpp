// "air.atomic.<global or local>.<operation>[.<s or u>].<type>" and fences.
#include <optional>

#include "metal/lower/builtins/builtin_lowering.h"

namespace anymps::metal::lower::builtins {
namespace {

using Rmw = llvm::AtomicRMWInst;

// AIR passes Metal's memory_order as a number after the operands, which is known at the calls only. The strongest is
// right for all, and for read-modify-write costs nothing over relaxed on x86-64. In a threadgroup's memory simd passes
// make it plain arithmetic.
constexpr auto kOrder = llvm::AtomicOrdering::SequentiallyConsistent;

std::optional<Rmw::BinOp> operation_of(llvm::StringRef name, bool is_float, bool is_signed) {
  if (name == "add") return is_float ? Rmw::FAdd : Rmw::Add;
  if (name == "sub") return is_float ? Rmw::FSub : Rmw::Sub;
  if (name == "min") return is_float ? Rmw::FMin : is_signed ? Rmw::Min : Rmw::UMin;
  if (name == "max") return is_float ? Rmw::FMax : is_signed ? Rmw::Max : Rmw::UMax;
  if (name == "xchg") return Rmw::Xchg;
  if (name == "and") return Rmw::And;
  if (name == "or") return Rmw::Or;
  if (name == "xor") return Rmw::Xor;
  return std::nullopt;
}

llvm::Align natural(llvm::Type* type) { return llvm::Align(type->getPrimitiveSizeInBits() / 8); }

// Returns the old value, and stores it where the expected one was.
llvm::Value* compare_exchange(llvm::IRBuilder<>& b, const Declared& d) {
  llvm::Type* bits = b.getIntNTy(static_cast<unsigned>(d.result->getPrimitiveSizeInBits()));
  llvm::Value* expected = b.CreateLoad(bits, d.arguments[1]);
  llvm::Value* pair = b.CreateAtomicCmpXchg(d.arguments[0], expected, b.CreateBitCast(d.arguments[2], bits),
                                            llvm::MaybeAlign(), kOrder, kOrder);
  llvm::Value* old = b.CreateExtractValue(pair, 0);
  b.CreateStore(old, d.arguments[1]);
  return b.CreateBitCast(old, d.result);
}

}  // namespace

void lower_atomics(llvm::Module& module) {
  define_builtins(module, [](llvm::IRBuilder<>& b, const Declared& declared, llvm::Value*& value) {
    if (declared.operation != "atomic") return Written::kNotMine;
    if (declared.suffix.starts_with("fence")) {
      b.CreateFence(kOrder);
      return Written::kDone;
    }
    const auto [space, rest] = declared.suffix.split('.');
    const auto [name, type] = rest.split('.');
    const auto& a = declared.arguments;
    if (name == "load") {
      auto* load = b.CreateAlignedLoad(declared.result, a[0], natural(declared.result));
      load->setAtomic(kOrder);
      value = load;
      return Written::kDone;
    }
    if (name == "store") {
      auto* store = b.CreateAlignedStore(a[1], a[0], natural(a[1]->getType()));
      store->setAtomic(kOrder);
      return Written::kDone;
    }
    if (name == "cmpxchg") {
      value = compare_exchange(b, declared);
      return Written::kDone;
    }
    const auto operation = operation_of(name, a[1]->getType()->isFloatingPointTy(), type.starts_with("s."));
    if (!operation) return Written::kNotMine;
    value = b.CreateAtomicRMW(*operation, a[0], a[1], llvm::MaybeAlign(), kOrder);
    return Written::kDone;
  });
}

}  // namespace anymps::metal::lower::builtins
