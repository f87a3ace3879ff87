#include "metal/interpret/instructions.h"

#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/GetElementPtrTypeIterator.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>

#include <cmath>
#include <vector>

#include "gpu/support/round_up.h"

namespace anymps::metal::interpret {
namespace {

using From = std::span<const Operand>;
using IntegerOperation = std::uint64_t (*)(std::uint64_t a, std::uint64_t b, unsigned bits);

// What LLVM leaves undefined must still be something: division by zero gives zero, shifts go by the amount modulo the
// width, as Metal says.
IntegerOperation integer_operation(unsigned opcode) {
  using I = llvm::Instruction;
  switch (opcode) {
    case I::Add:
      return [](std::uint64_t a, std::uint64_t b, unsigned) { return a + b; };
    case I::Sub:
      return [](std::uint64_t a, std::uint64_t b, unsigned) { return a - b; };
    case I::Mul:
      return [](std::uint64_t a, std::uint64_t b, unsigned) { return a * b; };
    case I::And:
      return [](std::uint64_t a, std::uint64_t b, unsigned) { return a & b; };
    case I::Or:
      return [](std::uint64_t a, std::uint64_t b, unsigned) { return a | b; };
    case I::Xor:
      return [](std::uint64_t a, std::uint64_t b, unsigned) { return a ^ b; };
    case I::Shl:
      return [](std::uint64_t a, std::uint64_t b, unsigned bits) { return a << b % bits; };
    case I::LShr:
      return [](std::uint64_t a, std::uint64_t b, unsigned bits) { return a >> b % bits; };
    case I::AShr:
      return [](std::uint64_t a, std::uint64_t b, unsigned bits) {
        return static_cast<std::uint64_t>(sign_extended(a, bits) >> b % bits);
      };
    case I::UDiv:
      return [](std::uint64_t a, std::uint64_t b, unsigned) { return b == 0 ? 0 : a / b; };
    case I::URem:
      return [](std::uint64_t a, std::uint64_t b, unsigned) { return b == 0 ? 0 : a % b; };
    case I::SDiv:
      return [](std::uint64_t a, std::uint64_t b, unsigned bits) {
        const std::int64_t divisor = sign_extended(b, bits);
        if (divisor == -1) return 0 - a;  // the least number has no opposite
        return divisor == 0 ? 0 : static_cast<std::uint64_t>(sign_extended(a, bits) / divisor);
      };
    case I::SRem:
      return [](std::uint64_t a, std::uint64_t b, unsigned bits) {
        const std::int64_t divisor = sign_extended(b, bits);
        if (divisor == 0 || divisor == -1) return std::uint64_t{0};
        return static_cast<std::uint64_t>(sign_extended(a, bits) % divisor);
      };
    default:
      return nullptr;
  }
}

template <typename Compare>
constexpr IntegerOperation kUnsignedComparison =
    [](std::uint64_t a, std::uint64_t b, unsigned) { return std::uint64_t{Compare{}(a, b)}; };
template <typename Compare>
constexpr IntegerOperation kSignedComparison = [](std::uint64_t a, std::uint64_t b, unsigned bits) {
  return std::uint64_t{Compare{}(sign_extended(a, bits), sign_extended(b, bits))};
};

IntegerOperation comparison(llvm::CmpInst::Predicate predicate) {
  using P = llvm::CmpInst;
  switch (predicate) {
    case P::ICMP_EQ:
      return kUnsignedComparison<std::equal_to<>>;
    case P::ICMP_NE:
      return kUnsignedComparison<std::not_equal_to<>>;
    case P::ICMP_ULT:
      return kUnsignedComparison<std::less<>>;
    case P::ICMP_ULE:
      return kUnsignedComparison<std::less_equal<>>;
    case P::ICMP_UGT:
      return kUnsignedComparison<std::greater<>>;
    case P::ICMP_UGE:
      return kUnsignedComparison<std::greater_equal<>>;
    case P::ICMP_SLT:
      return kSignedComparison<std::less<>>;
    case P::ICMP_SLE:
      return kSignedComparison<std::less_equal<>>;
    case P::ICMP_SGT:
      return kSignedComparison<std::greater<>>;
    case P::ICMP_SGE:
      return kSignedComparison<std::greater_equal<>>;
    default:
      return nullptr;
  }
}

Step integer_step(IntegerOperation operation, const Operand& to, From from) {
  return [=, a = from[0], b = from[1]](const Lanes& lanes) {
    lanes.each_element(to.shape, [&](unsigned lane, unsigned element) {
      const std::uint64_t result = operation(lanes.bits(a, lane, element), lanes.bits(b, lane, element), a.shape.bits);
      lanes.set_bits(to, lane, element, result);
    });
  };
}

using RealOperation = double (*)(double a, double b);

RealOperation real_operation(unsigned opcode) {
  using I = llvm::Instruction;
  switch (opcode) {
    case I::FAdd:
      return [](double a, double b) { return a + b; };
    case I::FSub:
      return [](double a, double b) { return a - b; };
    case I::FMul:
      return [](double a, double b) { return a * b; };
    case I::FDiv:
      return [](double a, double b) { return a / b; };
    case I::FRem:
      return [](double a, double b) { return std::fmod(a, b); };
    default:
      return nullptr;
  }
}

Step real_step(RealOperation operation, const Operand& to, From from) {
  return [=, a = from[0], b = from[1]](const Lanes& lanes) {
    lanes.each_element(to.shape, [&](unsigned lane, unsigned element) {
      lanes.set_real(to, lane, element, operation(lanes.real(a, lane, element), lanes.real(b, lane, element)));
    });
  };
}

// A predicate is a set of relations: LLVM gives each a bit.
Step real_comparison(llvm::CmpInst::Predicate predicate, const Operand& to, From from) {
  return [=, a = from[0], b = from[1]](const Lanes& lanes) {
    lanes.each_element(to.shape, [&](unsigned lane, unsigned element) {
      const double x = lanes.real(a, lane, element);
      const double y = lanes.real(b, lane, element);
      const unsigned relation = x == y  ? llvm::CmpInst::FCMP_OEQ
                                : x < y ? llvm::CmpInst::FCMP_OLT
                                : x > y ? llvm::CmpInst::FCMP_OGT
                                        : llvm::CmpInst::FCMP_UNO;
      lanes.set_bits(to, lane, element, (predicate & relation) != 0 ? 1 : 0);
    });
  };
}

template <typename Each>
Step element_step(const Operand& to, const Operand& from, Each each) {
  return [=](const Lanes& lanes) {
    lanes.each_element(to.shape, [&](unsigned lane, unsigned element) { each(lanes, to, from, lane, element); });
  };
}

Step copy_step(const Operand& to, const Operand& from) {
  return [=](const Lanes& lanes) { lanes.each([&](unsigned lane) { lanes.copy(to, lane, lanes.read(from, lane)); }); };
}

Step cast_step(const llvm::CastInst& cast, const Operand& to, const Operand& from) {
  using I = llvm::Instruction;
  switch (cast.getOpcode()) {
    case I::Trunc:
    case I::ZExt:
    case I::PtrToInt:
    case I::IntToPtr:
      return element_step(to, from, [](const Lanes& lanes, const Operand& t, const Operand& f, unsigned l, unsigned e) {
        lanes.set_bits(t, l, e, lanes.bits(f, l, e));
      });
    case I::SExt:
      return element_step(to, from, [](const Lanes& lanes, const Operand& t, const Operand& f, unsigned l, unsigned e) {
        lanes.set_bits(t, l, e, static_cast<std::uint64_t>(lanes.sign_extended(f, l, e)));
      });
    case I::FPTrunc:
    case I::FPExt:
      return element_step(to, from, [](const Lanes& lanes, const Operand& t, const Operand& f, unsigned l, unsigned e) {
        lanes.set_real(t, l, e, lanes.real(f, l, e));
      });
    case I::FPToSI:
    case I::FPToUI:
      return element_step(to, from,
                          [is_signed = cast.getOpcode() == I::FPToSI](const Lanes& lanes, const Operand& t,
                                                                      const Operand& f, unsigned l, unsigned e) {
                            lanes.set_bits(t, l, e, real_as_integer(lanes.real(f, l, e), t.shape.bits, is_signed));
                          });
    case I::SIToFP:
    case I::UIToFP:
      return element_step(
          to, from,
          [is_signed = cast.getOpcode() == I::SIToFP](const Lanes& lanes, const Operand& t, const Operand& f,
                                                      unsigned l, unsigned e) {
            const bool negative = is_signed && lanes.sign_extended(f, l, e) < 0;
            const std::uint64_t magnitude =
                negative ? 0 - static_cast<std::uint64_t>(lanes.sign_extended(f, l, e)) : lanes.bits(f, l, e);
            write_integer_as_real(t.shape.kind, lanes.write(t, l) + e * t.shape.element_bytes, magnitude, negative);
          });
    case I::BitCast:
    case I::AddrSpaceCast:
      // Vectors of i1 lie here as bytes, where LLVM sees bits.
      if (to.shape.bytes() != from.shape.bytes() || to.shape.bits == 1 || from.shape.bits == 1) return nullptr;
      return copy_step(to, from);
    default:
      return nullptr;
  }
}

Step negation(const Operand& to, const Operand& from) {
  return element_step(to, from, [](const Lanes& lanes, const Operand& t, const Operand& f, unsigned l, unsigned e) {
    lanes.set_bits(t, l, e, lanes.bits(f, l, e) ^ std::uint64_t{1} << (t.shape.bits - 1));
  });
}

Step selection(const Operand& to, From from) {
  return [=, condition = from[0], yes = from[1], no = from[2]](const Lanes& lanes) {
    if (condition.shape.count == 1) {
      lanes.each(
          [&](unsigned lane) { lanes.copy(to, lane, lanes.read(lanes.bits(condition, lane) != 0 ? yes : no, lane)); });
      return;
    }
    lanes.each_element(to.shape, [&](unsigned lane, unsigned element) {
      const Operand& chosen = lanes.bits(condition, lane, element) != 0 ? yes : no;
      lanes.set_bits(to, lane, element, lanes.bits(chosen, lane, element));
    });
  };
}

// An index beyond the vector is undefined; it wraps here.
Step extraction(const Operand& to, From from) {
  return [=, vector = from[0], index = from[1]](const Lanes& lanes) {
    lanes.each([&](unsigned lane) {
      const auto element = static_cast<unsigned>(lanes.bits(index, lane) % vector.shape.count);
      lanes.set_bits(to, lane, 0, lanes.bits(vector, lane, element));
    });
  };
}

Step insertion(const Operand& to, From from) {
  return [=, vector = from[0], value = from[1], index = from[2]](const Lanes& lanes) {
    lanes.each([&](unsigned lane) {
      lanes.copy(to, lane, lanes.read(vector, lane));
      const auto element = static_cast<unsigned>(lanes.bits(index, lane) % vector.shape.count);
      lanes.set_bits(to, lane, element, lanes.bits(value, lane));
    });
  };
}

Step shuffle_vector(const llvm::ShuffleVectorInst& instruction, const Operand& to, From from) {
  const std::vector<int> mask(instruction.getShuffleMask().begin(), instruction.getShuffleMask().end());
  return [=, a = from[0], b = from[1]](const Lanes& lanes) {
    lanes.each_element(to.shape, [&](unsigned lane, unsigned element) {
      const auto chosen = static_cast<unsigned>(mask[element]);
      std::uint64_t bits = 0;  // where the mask does not say
      if (mask[element] >= 0) {
        bits = chosen < a.shape.count ? lanes.bits(a, lane, chosen) : lanes.bits(b, lane, chosen - a.shape.count);
      }
      lanes.set_bits(to, lane, element, bits);
    });
  };
}

// Metal calls reading and writing through null undefined; here it would end the process.
std::byte* checked(std::byte* address, const ModuleMemory& memory) {
  constexpr std::uintptr_t kFirstPage = 4096;
  if (reinterpret_cast<std::uintptr_t>(address) < kFirstPage) memory.refuse("a thread reads or writes through null");
  return address;
}

Step load_value(const Operand& to, const Operand& address, const ModuleMemory& memory) {
  return [=, &memory](const Lanes& lanes) {
    lanes.each([&](unsigned lane) { lanes.copy(to, lane, checked(lanes.pointer(address, lane), memory)); });
  };
}

Step store_value(From from, const ModuleMemory& memory) {
  return [value = from[0], address = from[1], &memory](const Lanes& lanes) {
    lanes.each([&](unsigned lane) {
      std::memcpy(checked(lanes.pointer(address, lane), memory), lanes.read(value, lane), value.shape.bytes());
    });
  };
}

}  // namespace

Step variable_step(const llvm::AllocaInst& instruction, std::size_t count, const Operand& to,
                   const ModuleMemory& memory, OwnMemory& own) {
  own.used = gpu::support::round_up(own.used, instruction.getAlign().value());
  const std::size_t offset = own.used;
  own.used += memory.size_of(instruction.getAllocatedType()) * count;
  return [to, offset, own_bytes = own.own_bytes](const Lanes& lanes) {
    lanes.each([&](unsigned lane) {
      const std::byte* address = lanes.own_memory + lane * *own_bytes + offset;
      lanes.set_bits(to, lane, 0, reinterpret_cast<std::uintptr_t>(address));
    });
  };
}

namespace {

Step address(const llvm::GetElementPtrInst& instruction, const Operand& to, From from, const ModuleMemory& memory) {
  if (to.shape.count != 1) return nullptr;
  struct Term {
    Operand index;
    std::uint64_t scale;
  };
  std::vector<Term> terms;
  std::uint64_t constant = 0;
  unsigned operand = 1;
  for (auto i = llvm::gep_type_begin(instruction); i != llvm::gep_type_end(instruction); ++i, ++operand) {
    if (const llvm::StructType* structure = i.getStructTypeOrNull()) {
      const auto field = static_cast<unsigned>(llvm::cast<llvm::ConstantInt>(i.getOperand())->getZExtValue());
      constant += memory.offset_of(structure, {&field, 1});
    } else {
      terms.push_back({from[operand], i.getSequentialElementStride(memory.layout()).getFixedValue()});
    }
  }
  return [=, base = from[0]](const Lanes& lanes) {
    lanes.each([&](unsigned lane) {
      std::uint64_t sum = lanes.bits(base, lane) + constant;
      for (const Term& term : terms)
        sum += static_cast<std::uint64_t>(lanes.sign_extended(term.index, lane)) * term.scale;
      lanes.set_bits(to, lane, 0, sum);
    });
  };
}

Step member(std::uint64_t offset, const Operand& to, From from) {
  return [=, aggregate = from[0]](const Lanes& lanes) {
    lanes.each([&](unsigned lane) { lanes.copy(to, lane, lanes.read(aggregate, lane) + offset); });
  };
}

Step with_member(std::uint64_t offset, const Operand& to, From from) {
  return [=, aggregate = from[0], value = from[1]](const Lanes& lanes) {
    lanes.each([&](unsigned lane) {
      lanes.copy(to, lane, lanes.read(aggregate, lane));
      std::memcpy(lanes.write(to, lane) + offset, lanes.read(value, lane), value.shape.bytes());
    });
  };
}

bool is_bit_vector(const Shape& shape) { return shape.bits == 1 && shape.count > 1; }

}  // namespace

Step instruction_step(const llvm::Instruction& instruction, const Operand& to, From from, ModuleMemory& memory) {
  using I = llvm::Instruction;
  if (const IntegerOperation operation = integer_operation(instruction.getOpcode())) {
    return integer_step(operation, to, from);
  }
  if (const RealOperation operation = real_operation(instruction.getOpcode())) return real_step(operation, to, from);
  if (const auto* cast = llvm::dyn_cast<llvm::CastInst>(&instruction)) return cast_step(*cast, to, from[0]);
  switch (instruction.getOpcode()) {
    case I::ICmp:
      return integer_step(comparison(llvm::cast<llvm::ICmpInst>(instruction).getPredicate()), to, from);
    case I::FCmp:
      return real_comparison(llvm::cast<llvm::FCmpInst>(instruction).getPredicate(), to, from);
    case I::FNeg:
      return negation(to, from[0]);
    case I::Freeze:
      return copy_step(to, from[0]);
    case I::Select:
      return selection(to, from);
    case I::ExtractElement:
      return extraction(to, from);
    case I::InsertElement:
      return insertion(to, from);
    case I::ShuffleVector:
      return shuffle_vector(llvm::cast<llvm::ShuffleVectorInst>(instruction), to, from);
    case I::ExtractValue: {
      const auto& extract = llvm::cast<llvm::ExtractValueInst>(instruction);
      return member(memory.offset_of(extract.getAggregateOperand()->getType(), extract.getIndices()), to, from);
    }
    case I::InsertValue: {
      const auto& insert = llvm::cast<llvm::InsertValueInst>(instruction);
      return with_member(memory.offset_of(insert.getType(), insert.getIndices()), to, from);
    }
    case I::Load:
      return is_bit_vector(to.shape) ? Step() : load_value(to, from[0], memory);
    case I::Store:
      return is_bit_vector(from[0].shape) ? Step() : store_value(from, memory);
    case I::GetElementPtr:
      return address(llvm::cast<llvm::GetElementPtrInst>(instruction), to, from, memory);
    default:
      return nullptr;
  }
}

}  // namespace anymps::metal::interpret
