#include "random_expression.h"

#include <iterator>

#include "kernel_buffers.h"

namespace anymps::fuzz {
namespace {

const char* input_of(Type type) {
  switch (type) {
    case Type::kUchar:
      return "in_b";
    case Type::kShort:
      return "in_s";
    case Type::kInt:
      return "in_i";
    case Type::kLong:
      return "in_l";
    case Type::kHalf:
      return "in_h";
    case Type::kFloat:
      return "in_f";
    case Type::kUint2:
      return "in_w";
    case Type::kUchar4:
      return "((device const uchar4*)in_u)";
    case Type::kHalf2:
      return "((device const half2*)in_h)";
    case Type::kFloat3:
      return "((device const packed_float3*)in_v)";
    case Type::kFloat4:
      return "in_v";
    default:
      return "in_u";
  }
}

std::string operation(const std::string& left, const char* sign, const std::string& right) {
  return "(" + left + " " + sign + " " + right + ")";
}

// Named as a function, which a reducer leaves alone.
std::string cast(const char* type, const std::string& value) { return std::string(type) + "(" + value + ")"; }

}  // namespace

const char* name_of(Type type) {
  constexpr const char* kNames[] = {"bool",  "uchar", "short",  "int",   "uint",   "long",  "half",
                                    "float", "uint2", "uchar4", "half2", "float3", "float4"};
  return kNames[static_cast<unsigned>(type)];
}

Type element_of(Type type) {
  switch (type) {
    case Type::kUint2:
      return Type::kUint;
    case Type::kUchar4:
      return Type::kUchar;
    case Type::kHalf2:
      return Type::kHalf;
    default:
      return Type::kFloat;
  }
}

unsigned count_of(Type type) {
  switch (type) {
    case Type::kUint2:
    case Type::kHalf2:
      return 2;
    case Type::kFloat3:
      return 3;
    default:
      return 4;
  }
}

Type Expressions::vector_type() {
  constexpr Type kTypes[] = {Type::kUint2,  Type::kUint2,  Type::kUchar4, Type::kHalf2,
                             Type::kFloat3, Type::kFloat4, Type::kFloat4};
  return random_.one_of(kTypes);
}

Type Expressions::scalar_type() {
  constexpr Type kTypes[] = {Type::kUchar, Type::kShort, Type::kInt,  Type::kInt,   Type::kUint, Type::kUint,
                             Type::kUint,  Type::kLong,  Type::kHalf, Type::kFloat, Type::kFloat};
  return random_.one_of(kTypes);
}

std::string Expressions::number(unsigned least, unsigned most, const char* suffix) {
  return std::to_string(random_.between(least, most)) + suffix;
}

std::string Expressions::of(Type type, bool uniform) { return of(type, uniform, random_.between(0, deepest_)); }

std::string Expressions::below(unsigned count, bool uniform) {
  return "(" + of(Type::kUint, uniform) + " & " + std::to_string(count - 1) + "u)";
}

std::string Expressions::of(Type type, bool uniform, unsigned depth) {
  if (depth == 0 || random_.chance(15)) return leaf(type, uniform);
  if (type == Type::kBool) return truth(uniform, depth - 1);
  if (random_.chance(10)) {
    return "(" + truth(uniform, depth - 1) + " ? " + cast(name_of(type), of(type, uniform, depth - 1)) + " : " +
           cast(name_of(type), of(type, uniform, depth - 1)) + ")";
  }
  if (is_scalar(type) && random_.chance(15)) return converted(type, uniform, depth - 1);
  switch (type) {
    case Type::kUchar:
    case Type::kShort:
      return narrow(type, uniform, depth - 1);
    case Type::kLong:
      return wide(uniform, depth - 1);
    case Type::kHalf:
    case Type::kFloat:
      return real(type, uniform, depth - 1);
    case Type::kInt:
    case Type::kUint:
      return word(type, uniform, depth - 1);
    default:
      return vector(type, uniform, depth - 1);
  }
}

std::string Expressions::literal(Type type) {
  switch (type) {
    case Type::kBool:
      return "true";
    case Type::kUint:
      if (random_.chance(20)) return std::to_string(static_cast<std::uint32_t>(random_.next())) + "u";
      return number(0, 20);
    case Type::kInt:
      if (random_.chance(20)) return number(0, 2147483647, "");
      return random_.chance(40) ? "(-" + number(1, 20, "") + ")" : number(0, 20, "");
    case Type::kLong:
      return random_.chance(40) ? "(-" + number(1, 1000, "l") + ")" : number(0, 4000000, "l");
    case Type::kUchar:
      return cast("uchar", number(0, 255));
    case Type::kShort:
      return cast("short", (random_.chance(40) ? "-" : "") + number(0, 32767, ""));
    case Type::kHalf:
      return cast("half", number(0, 64, "") + ".25f");
    case Type::kFloat:
      return (random_.chance(30) ? "(-" + number(0, 64, ".5f") + ")" : number(0, 64, ".125f"));
    default:
      return std::string(name_of(type)) + "(" + literal(element_of(type)) + ")";
  }
}

// Empty where there is none.
std::string Expressions::variable(Type type, bool uniform) {
  std::vector<std::string> names;
  for (const Variable& variable : scope_.variables) {
    if (uniform && !variable.uniform) continue;
    if (variable.type == type) names.push_back(variable.name);
    if (!is_scalar(variable.type) && element_of(variable.type) == type) {
      names.push_back(variable.name + (random_.chance(50) ? ".x" : ".y"));
    }
  }
  return names.empty() ? "" : random_.one_of(names);
}

std::string Expressions::position() {
  std::vector<std::string> names = {"tid", "tid"};
  if (rows_) names.insert(names.end(), {"gid.x", "gid.y"});
  if (together_ != Together::kNothing) names.insert(names.end(), {"lane", "lid"});
  return random_.one_of(names);
}

std::string Expressions::leaf(Type type, bool uniform) {
  if (random_.chance(50)) {
    if (std::string name = variable(type, uniform); !name.empty()) return name;
  }
  if (type == Type::kBool) return truth(uniform, 0);
  if (random_.chance(40) && !uniform) return load(type);
  if (random_.chance(25) && !uniform && !scope_.arrays.empty()) {
    const Array& array = random_.one_of(scope_.arrays);
    const std::string index = variable(Type::kUint, false);
    if (array.element == type) {
      return array.name + "[(" + (index.empty() ? position() : index) + " & " + std::to_string(array.count - 1) + "u)]";
    }
  }
  if (scope_.shared && !uniform && random_.chance(40)) {
    const std::string index = variable(Type::kUint, false);
    const std::string other = "[" + operation(index.empty() ? position() : index, "+", number(0, 40)) + " % tcount]";
    if (type == Type::kUint) return "shared_u" + other;
    if (type == Type::kFloat) return "shared_f" + other;
  }
  if (type == Type::kUint) {
    if (!uniform && random_.chance(60)) return position();
    if (random_.chance(40)) return random_.chance(50) ? "c_u" : "c_table[" + number(0, kTable - 1) + "]";
    if (together_ != Together::kNothing && random_.chance(30)) return "tcount";
    if (together_ == Together::kThreadgroups && random_.chance(30)) return "group";
  }
  if (random_.chance(40)) {
    if (type == Type::kInt) return "c_i";
    if (type == Type::kLong) return "c_l";
    if (type == Type::kFloat) return "c_f";
  }
  return literal(type);
}

std::string Expressions::load(Type type) {
  if (type == Type::kBool) return operation(load(Type::kUchar), "<", number(1, 30));
  std::string input = input_of(type);
  // A thread's own places of the outputs too, which it may have written to.
  if (random_.chance(10)) {
    if (type == Type::kUint) return "out_u[tid * 4u + " + number(0, 3) + "]";
    if (type == Type::kFloat4) return "out_v[tid * 2u + " + number(0, 1) + "]";
    if (type == Type::kShort) return "out_s[tid * 2u + " + number(0, 1) + "]";
  }
  const std::string index = place(type, input);
  if (random_.chance(7))
    input = "(" + truth(false, 0) + " ? " + input + " : " + input + " + " + std::to_string(kBehind) + ")";
  return input + "[" + index + "]";
}

// An index that is inside for every thread: kMostThreads times 4 and some more is less than kInputs.
std::string Expressions::place(Type type, std::string& input) {
  const std::string base = input;
  switch (random_.below(type == Type::kUint ? 16 : 14)) {
    case 0:
      return "tid";
    case 1:
      return "tid + " + number(1, 200);
    case 2:
      return "tid * " + number(2, 4) + " + " + number(0, 200);
    case 3:
      return "tid * c_stride + " + number(0, 9);
    case 4:
      return number(kMostThreads, 1000) + " - tid";
    case 5:
      return "(tid - " + number(1, 40) + ") & " + std::to_string(kInputs - 1) + "u";
    case 6:
      return of(Type::kUint, false, 1) + " & " + std::to_string(kInputs - 1) + "u";
    case 7:
      input = "(" + base + " + 64)";
      return "int(tid) - " + number(0, 64, "");
    case 8:
      return "uchar(tid * " + number(1, 9) + " + " + number(0, 255) + ")";
    case 9:
      return "ulong(tid) * " + number(1, 3, "ul") + " + " + number(0, 9, "ul");
    case 10:
      return position() + " + c_stride";
    case 11:
      input = "(" + base + " + 128)";
      return "char(tid * " + number(1, 5) + ")";
    case 12:
    case 13:
      for (const Variable& variable : scope_.variables) {
        if (variable.small && random_.chance(60)) {
          return random_.chance(50) ? "tid * 4u + " + variable.name : variable.name + " * c_stride + tid";
        }
      }
      return of(Type::kInt, false, 1) + " & " + std::to_string(kInputs - 1);
    case 14:
      return "ushort(tid * " + number(1, 500) + " + " + number(0, 65535) + ")";
    default:
      input = "(" + base + " + 32768)";
      return "short(tid * " + number(1, 500) + ")";
  }
}

std::string Expressions::truth(bool uniform, unsigned depth) {
  if (depth > 0 && random_.chance(15)) {
    return operation(of(Type::kBool, uniform, depth / 2), random_.chance(50) ? "&&" : "||",
                     of(Type::kBool, uniform, depth / 2));
  }
  if (depth > 0 && random_.chance(8)) return "(!" + of(Type::kBool, uniform, depth / 2) + ")";
  constexpr const char* kSigns[] = {"<", "<=", ">", ">=", "==", "!="};
  const Type type = scalar_type();
  if (random_.chance(40)) {
    return operation("(" + of(Type::kUint, uniform, depth) + " % " + number(2, 7) + ")", random_.one_of(kSigns),
                     number(0, 6));
  }
  return operation(of(type, uniform, depth), random_.one_of(kSigns), of(type, uniform, depth));
}

// int and uint. Sums and products of int are those of uint, which have no overflow.
std::string Expressions::word(Type type, bool uniform, unsigned depth) {
  const bool is_signed = type == Type::kInt;
  const auto operand = [&] { return of(type, uniform, depth); };
  constexpr const char* kModular[] = {"+", "-", "*", "+", "-"};
  constexpr const char* kBits[] = {"&", "|", "^"};
  constexpr const char* kPairs[] = {"min", "max", "mulhi", "hadd", "rhadd", "addsat", "subsat"};
  constexpr const char* kSingle[] = {"popcount", "clz", "ctz", "reverse_bits"};
  switch (random_.below(10)) {
    case 0:
    case 1:
    case 2: {
      const char* sign = random_.one_of(kModular);
      if (!is_signed) return operation(operand(), sign, operand());
      return cast("int", cast("uint", operand()) + " " + sign + " " + cast("uint", operand()));
    }
    case 3:
      return operation(operand(), random_.one_of(kBits), operand());
    case 4:
      if (is_signed) {
        return operation(operand(), random_.chance(50) ? "/" : "%", cast("int", below(16, uniform) + " + 2u"));
      }
      return operation(operand(), random_.chance(50) ? "/" : "%", "(" + operand() + " | 1u)");
    case 5:
      if (is_signed && random_.chance(50)) return operation(operand(), ">>", below(32, uniform));
      return cast(name_of(type), cast("uint", operand()) + (random_.chance(50) ? " << " : " >> ") + below(32, uniform));
    case 6:
      return std::string(random_.one_of(kPairs)) + "(" + cast(name_of(type), operand()) + ", " +
             cast(name_of(type), operand()) + ")";
    case 7:
      return std::string(random_.one_of(kSingle)) + "(" + cast(name_of(type), operand()) + ")";
    case 8:
      return std::string("clamp(") + cast(name_of(type), operand()) + ", " + cast(name_of(type), number(0, 9)) + ", " +
             cast(name_of(type), number(10, 99)) + ")";
    default:
      return "select(" + cast(name_of(type), operand()) + ", " + cast(name_of(type), operand()) + ", " +
             truth(uniform, depth / 2) + ")";
  }
}

// Computed as int, where nothing overflows, and cut off.
std::string Expressions::narrow(Type type, bool uniform, unsigned depth) {
  const auto operand = [&] { return of(type, uniform, depth); };
  constexpr const char* kSigns[] = {"+", "-", "*", "&", "|", "^"};
  switch (random_.below(5)) {
    case 0:
      return cast(name_of(type), operand() + " >> " + below(8, uniform));
    case 1:
      return cast(name_of(type), operand() + " / " + cast("int", below(8, uniform) + " + 1u"));
    case 2:
      return std::string(random_.chance(50) ? "min(" : "max(") + cast(name_of(type), operand()) + ", " +
             cast(name_of(type), operand()) + ")";
    default:
      return cast(name_of(type), operand() + " " + random_.one_of(kSigns) + " " + operand());
  }
}

std::string Expressions::wide(bool uniform, unsigned depth) {
  const auto operand = [&] { return of(Type::kLong, uniform, depth); };
  constexpr const char* kSigns[] = {"+", "-", "*", "&", "|", "^"};
  switch (random_.below(5)) {
    case 0:
      return operation(operand(), ">>", below(64, uniform));
    case 1:
      return operation(operand(), random_.chance(50) ? "/" : "%", cast("long", below(32, uniform) + " + 2u"));
    case 2:
      return cast("long", cast("ulong", operand()) + " << " + below(64, uniform));
    default:
      return cast("long", cast("ulong", operand()) + " " + random_.one_of(kSigns) + " " + cast("ulong", operand()));
  }
}

// Nothing is negated: for AArch64, LLVM makes -fma(a, b, c) one instruction, which has another zero.
std::string Expressions::real(Type type, bool uniform, unsigned depth) {
  const auto operand = [&] { return cast(name_of(type), of(type, uniform, depth)); };
  constexpr const char* kSigns[] = {"+", "-", "*"};
  switch (random_.below(8)) {
    case 0:
      return "fma(" + operand() + ", " + operand() + ", " + operand() + ")";
    case 1:
      return std::string(random_.chance(50) ? "min(" : "max(") + operand() + ", " + operand() + ")";
    case 2:
      return "abs(" + operand() + ")";
    case 3:
      return std::string(random_.chance(50) ? "floor(" : "trunc(") + operand() + ")";
    default:
      return operation(operand(), random_.one_of(kSigns), operand());
  }
}

std::string Expressions::vector(Type type, bool uniform, unsigned depth) {
  const auto operand = [&] { return cast(name_of(type), of(type, uniform, depth)); };
  constexpr const char* kSigns[] = {"+", "-", "*"};
  if (random_.chance(30)) {
    std::string text = std::string(name_of(type)) + "(";
    for (unsigned i = 0; i < count_of(type); ++i) {
      text += (i != 0 ? ", " : "") + of(element_of(type), uniform, depth / 2);
    }
    return text + ")";
  }
  if (random_.chance(20)) {
    constexpr const char* kOfTwo[] = {".yx", ".xx", ".yy"};
    constexpr const char* kOfThree[] = {".zyx", ".xxz", ".yzx"};
    constexpr const char* kOfFour[] = {".wzyx", ".xxzz", ".yzwx", ".wwww"};
    const unsigned count = count_of(type);
    return operand() + (count == 2   ? random_.one_of(kOfTwo)
                        : count == 3 ? random_.one_of(kOfThree)
                                     : random_.one_of(kOfFour));
  }
  if (random_.chance(20)) return std::string(random_.chance(50) ? "min(" : "max(") + operand() + ", " + operand() + ")";
  if (type == Type::kUint2 && random_.chance(20)) return operation(operand(), ">>", "uint2(" + number(0, 31) + ")");
  return operation(operand(), random_.one_of(kSigns), operand());
}

// From another type; from real numbers by functions that every program has, as C++ says nothing of large ones.
std::string Expressions::converted(Type type, bool uniform, unsigned depth) {
  const Type from = random_.chance(10) ? Type::kBool : scalar_type();
  const bool real_to_integer = (from == Type::kFloat || from == Type::kHalf) && type < Type::kHalf;
  const std::string value = of(from, uniform, depth);
  if (!real_to_integer) return cast(name_of(type), value);
  return std::string("to_") + name_of(type) + "(" + cast("float", value) + ")";
}

}  // namespace anymps::fuzz
