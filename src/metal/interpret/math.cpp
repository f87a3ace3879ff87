#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include "metal/interpret/functions.h"

namespace anymps::metal::interpret {
namespace {

using From = std::span<const Operand>;

// Exact where they are zero or one; a zero of the sine has the sign of x.
double sine_of_half_turns(double x) {
  const double turn = std::remainder(x, 2);
  const double least = std::abs(turn) > 0.5 ? std::copysign(1.0, turn) - turn : turn;
  return least == 0 ? std::copysign(0.0, x) : std::sin(std::numbers::pi * least);
}
double cosine_of_half_turns(double x) { return std::sin(std::numbers::pi * (0.5 - std::abs(std::remainder(x, 2)))); }

// By the nearest double; Metal allows its functions a few units in the last place, the "fast" ones more.
constexpr std::pair<std::string_view, double (*)(double)> kUnary[] = {
    {"acos", [](double x) { return std::acos(x); }},
    {"acosh", [](double x) { return std::acosh(x); }},
    {"asin", [](double x) { return std::asin(x); }},
    {"asinh", [](double x) { return std::asinh(x); }},
    {"atan", [](double x) { return std::atan(x); }},
    {"atanh", [](double x) { return std::atanh(x); }},
    {"ceil", [](double x) { return std::ceil(x); }},
    {"cos", [](double x) { return std::cos(x); }},
    {"cosh", [](double x) { return std::cosh(x); }},
    {"cospi", cosine_of_half_turns},
    {"exp", [](double x) { return std::exp(x); }},
    {"exp10", [](double x) { return std::pow(10.0, x); }},
    {"exp2", [](double x) { return std::exp2(x); }},
    {"floor", [](double x) { return std::floor(x); }},
    {"log", [](double x) { return std::log(x); }},
    {"log10", [](double x) { return std::log10(x); }},
    {"log2", [](double x) { return std::log2(x); }},
    {"rint", [](double x) { return std::nearbyint(x); }},
    {"round", [](double x) { return std::round(x); }},
    {"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
    {"saturate", [](double x) { return std::fmin(std::fmax(x, 0.0), 1.0); }},
    {"sign", [](double x) { return x > 0           ? 1.0
                                   : x < 0         ? -1.0
                                   : std::isnan(x) ? 0.0
                                                   : x; }},
    {"sin", [](double x) { return std::sin(x); }},
    {"sinh", [](double x) { return std::sinh(x); }},
    {"sinpi", sine_of_half_turns},
    {"sqrt", [](double x) { return std::sqrt(x); }},
    {"tan", [](double x) { return std::tan(x); }},
    {"tanpi", [](double x) { return sine_of_half_turns(x) / cosine_of_half_turns(x); }},
    {"tanh", [](double x) { return std::tanh(x); }},
    {"trunc", [](double x) { return std::trunc(x); }},
};

constexpr std::pair<std::string_view, double (*)(double, double)> kBinary[] = {
    {"atan2", [](double y, double x) { return std::atan2(y, x); }},
    {"divide", [](double x, double y) { return x / y; }},
    {"fdim", [](double x, double y) { return std::fdim(x, y); }},
    {"fmax", [](double x, double y) { return std::fmax(x, y); }},
    {"fmin", [](double x, double y) { return std::fmin(x, y); }},
    {"fmod", [](double x, double y) { return std::fmod(x, y); }},
    {"pow", [](double x, double y) { return std::pow(x, y); }},
    {"powr", [](double x, double y) { return std::pow(x, y); }},
    {"step", [](double edge, double x) { return x < edge ? 0.0 : 1.0; }},
};

template <typename Table>
auto find(const Table& table, std::string_view name) {
  const auto found = std::ranges::find(table, name, [](const auto& entry) { return entry.first; });
  return found == std::end(table) ? nullptr : found->second;
}

double smooth_step(Kind, double low, double high, double x) {
  const double t = std::fmin(std::fmax((x - low) / (high - low), 0.0), 1.0);
  return t * t * (3 - 2 * t);
}

constexpr std::pair<std::string_view, double (*)(Kind, double, double, double)> kOfThree[] = {
    {"clamp", [](Kind, double x, double low, double high) { return std::fmin(std::fmax(x, low), high); }},
    {"fma", fused_multiply_add},
    {"fmuladd", fused_multiply_add},
    {"fmax3", [](Kind, double x, double y, double z) { return std::fmax(std::fmax(x, y), z); }},
    {"fmedian3",
     [](Kind, double x, double y, double z) { return std::fmax(std::fmin(x, y), std::fmin(std::fmax(x, y), z)); }},
    {"fmin3", [](Kind, double x, double y, double z) { return std::fmin(std::fmin(x, y), z); }},
    {"mix", [](Kind, double x, double y, double share) { return x + (y - x) * share; }},
    {"smoothstep", smooth_step},
};

// Less than one, which x - floor(x) is not for a small negative x.
double fraction(Kind kind, double x) {
  const double most = kind == Kind::kHalf ? 0x1.ffcp-1 : 0x1.fffffep-1;
  return std::fmin(x - std::floor(x), most);
}

Step real_function(std::string_view operation, const Operand& to, From from) {
  if (const auto function = find(kUnary, operation)) {
    return [=, x = from[0]](const Lanes& lanes) {
      lanes.each_element(to.shape, [&](unsigned lane, unsigned element) {
        lanes.set_real(to, lane, element, function(lanes.real(x, lane, element)));
      });
    };
  }
  if (const auto function = find(kBinary, operation)) {
    return [=, x = from[0], y = from[1]](const Lanes& lanes) {
      lanes.each_element(to.shape, [&](unsigned lane, unsigned element) {
        lanes.set_real(to, lane, element, function(lanes.real(x, lane, element), lanes.real(y, lane, element)));
      });
    };
  }
  if (const auto function = find(kOfThree, operation)) {
    return [=, x = from[0], y = from[1], z = from[2]](const Lanes& lanes) {
      lanes.each_element(to.shape, [&](unsigned lane, unsigned element) {
        lanes.set_real(to, lane, element,
                       function(to.shape.kind, lanes.real(x, lane, element), lanes.real(y, lane, element),
                                lanes.real(z, lane, element)));
      });
    };
  }
  if (operation == "fract") {
    return [=, x = from[0]](const Lanes& lanes) {
      lanes.each_element(to.shape, [&](unsigned lane, unsigned element) {
        lanes.set_real(to, lane, element, fraction(to.shape.kind, lanes.real(x, lane, element)));
      });
    };
  }
  if (operation == "copysign") {
    return [=, x = from[0], y = from[1]](const Lanes& lanes) {
      lanes.each_element(to.shape, [&](unsigned lane, unsigned element) {
        const std::uint64_t sign = std::uint64_t{1} << (to.shape.bits - 1);
        lanes.set_bits(to, lane, element,
                       (lanes.bits(x, lane, element) & ~sign) | (lanes.bits(y, lane, element) & sign));
      });
    };
  }
  if (operation == "fabs") {
    return [=, x = from[0]](const Lanes& lanes) {
      lanes.each_element(to.shape, [&](unsigned lane, unsigned element) {
        const std::uint64_t sign = std::uint64_t{1} << (to.shape.bits - 1);
        lanes.set_bits(to, lane, element, lanes.bits(x, lane, element) & ~sign);
      });
    };
  }
  return nullptr;
}

// Integers with room for any sum, difference or product of two.
using Wide = __int128;
struct Integers {
  std::array<Wide, 4> x;
  unsigned bits;
  bool is_signed;

  Wide low() const { return is_signed ? -(Wide{1} << (bits - 1)) : 0; }
  Wide high() const { return (Wide{1} << (is_signed ? bits - 1 : bits)) - 1; }
  Wide ones() const { return (Wide{1} << bits) - 1; }
  Wide clamped(Wide value) const { return std::clamp(value, low(), high()); }
  // The first operand's bits.
  std::uint64_t word() const {
    return static_cast<std::uint64_t>(x[0]) & std::numeric_limits<std::uint64_t>::max() >> (64 - bits);
  }
  // Of a product; without a sign the highest bit is no sign either.
  Wide upper_product() const {
    if (is_signed) return x[0] * x[1] >> bits;
    return static_cast<Wide>(static_cast<unsigned __int128>(x[0]) * static_cast<unsigned __int128>(x[1]) >> bits);
  }
  // Bits from x[offset] on, x[offset + 1] of them.
  Wide field_mask(unsigned offset) const { return (Wide{1} << std::min<Wide>(x[offset + 1], bits)) - 1; }
};

std::uint64_t reversed(const Integers& v) {
  std::uint64_t result = 0;
  for (unsigned i = 0; i < v.bits; ++i) result |= (v.word() >> i & 1) << (v.bits - 1 - i);
  return result;
}

Wide extracted(const Integers& v) {
  const Wide field = static_cast<Wide>(v.word() >> static_cast<unsigned>(v.x[1])) & v.field_mask(1);
  if (!v.is_signed || v.x[2] == 0) return field;
  return sign_extended(static_cast<std::uint64_t>(field), static_cast<unsigned>(v.x[2]));
}

// The two words side by side, shifted: what is asked for is the upper word to the left, the lower to the right.
Wide funnel(const Integers& v, bool right = false) {
  const auto by = static_cast<unsigned>(v.x[2]) % v.bits;
  const auto both =
      static_cast<unsigned __int128>(v.x[0] & v.ones()) << v.bits | static_cast<unsigned __int128>(v.x[1] & v.ones());
  return static_cast<Wide>(right ? both >> by
                                 : both << by & (~static_cast<unsigned __int128>(0) >> (128 - 2 * v.bits)));
}

Wide median(const Integers& v) {
  return std::max(std::min(v.x[0], v.x[1]), std::min(std::max(v.x[0], v.x[1]), v.x[2]));
}

using IntegerFunction = Wide (*)(const Integers& v);
constexpr std::pair<std::string_view, IntegerFunction> kIntegers[] = {
    {"abs", [](const Integers& v) { return v.x[0] < 0 ? -v.x[0] : v.x[0]; }},
    {"abs_diff", [](const Integers& v) { return v.x[0] < v.x[1] ? v.x[1] - v.x[0] : v.x[0] - v.x[1]; }},
    {"add_sat", [](const Integers& v) { return v.clamped(v.x[0] + v.x[1]); }},
    {"clamp", [](const Integers& v) { return std::min(std::max(v.x[0], v.x[1]), v.x[2]); }},
    {"clz", [](const Integers& v) { return Wide{std::countl_zero(v.word())} - 64 + v.bits; }},
    {"ctz",
     [](const Integers& v) { return Wide{std::min<int>(std::countr_zero(v.word()), static_cast<int>(v.bits))}; }},
    {"bswap", [](const Integers& v) { return static_cast<Wide>(__builtin_bswap64(v.word()) >> (64 - v.bits)); }},
    {"cmp", [](const Integers& v) { return Wide{v.x[0] < v.x[1]   ? -1
                                                : v.x[0] > v.x[1] ? 1
                                                                  : 0}; }},
    {"extract_bits", extracted},
    {"fshl", [](const Integers& v) { return funnel(v) >> v.bits; }},
    {"fshr", [](const Integers& v) { return funnel(v, true) & v.ones(); }},
    {"hadd", [](const Integers& v) { return (v.x[0] + v.x[1]) >> 1; }},
    {"insert_bits",
     [](const Integers& v) {
       const Wide mask = v.field_mask(2) << static_cast<unsigned>(v.x[2]);
       return (v.x[0] & ~mask) | (v.x[1] << static_cast<unsigned>(v.x[2]) & mask);
     }},
    {"mad_hi", [](const Integers& v) { return v.upper_product() + v.x[2]; }},
    {"max", [](const Integers& v) { return std::max(v.x[0], v.x[1]); }},
    {"max3", [](const Integers& v) { return std::max({v.x[0], v.x[1], v.x[2]}); }},
    {"median3", median},
    {"min", [](const Integers& v) { return std::min(v.x[0], v.x[1]); }},
    {"min3", [](const Integers& v) { return std::min({v.x[0], v.x[1], v.x[2]}); }},
    {"mul_hi", [](const Integers& v) { return v.upper_product(); }},
    {"normalize_function_constant_predicate", [](const Integers& v) { return Wide{v.x[0] != 0}; }},
    {"popcount", [](const Integers& v) { return Wide{std::popcount(v.word())}; }},
    {"reverse_bits", [](const Integers& v) { return static_cast<Wide>(reversed(v)); }},
    {"rhadd", [](const Integers& v) { return (v.x[0] + v.x[1] + 1) >> 1; }},
    {"rotate",
     [](const Integers& v) {
       const unsigned by = static_cast<unsigned>(v.x[1]) % v.bits;
       return static_cast<Wide>(v.word()) << by | static_cast<Wide>(v.word() >> (v.bits - by) % v.bits);
     }},
    {"sub_sat", [](const Integers& v) { return v.clamped(v.x[0] - v.x[1]); }},
};

Step integer_function(std::string_view operation, bool is_signed, const Operand& to, From from) {
  const auto function = find(kIntegers, operation);
  if (function == nullptr || from.size() > 4) return nullptr;
  return [=, operands = std::vector<Operand>(from.begin(), from.end())](const Lanes& lanes) {
    lanes.each_element(to.shape, [&](unsigned lane, unsigned element) {
      Integers integers{.x = {}, .bits = to.shape.bits, .is_signed = is_signed};
      for (std::size_t i = 0; i < operands.size(); ++i) {
        // Offsets, and the second operand of llvm.abs, are one for all elements.
        const unsigned own = element < operands[i].shape.count ? element : 0;
        integers.x[i] = is_signed ? Wide{lanes.sign_extended(operands[i], lane, own)}
                                  : static_cast<Wide>(lanes.bits(operands[i], lane, own));
      }
      lanes.set_bits(to, lane, element, static_cast<std::uint64_t>(function(integers)));
    });
  };
}

Step all_or_any(bool all, const Operand& to, const Operand& x) {
  return [=](const Lanes& lanes) {
    lanes.each([&](unsigned lane) {
      bool result = all;
      for (unsigned element = 0; element < x.shape.count; ++element) {
        const bool set = lanes.bits(x, lane, element) != 0;
        result = all ? result && set : result || set;
      }
      lanes.set_bits(to, lane, 0, result ? 1 : 0);
    });
  };
}

// Metal does not say in which order; this rounds once.
Step dot(const Operand& to, From from) {
  return [=, x = from[0], y = from[1]](const Lanes& lanes) {
    lanes.each([&](unsigned lane) {
      double sum = 0;
      for (unsigned element = 0; element < x.shape.count; ++element) {
        sum += lanes.real(x, lane, element) * lanes.real(y, lane, element);
      }
      lanes.set_real(to, lane, 0, sum);
    });
  };
}

Step scale_by_power_of_two(const Operand& to, From from) {
  return [=, x = from[0], exponent = from[1]](const Lanes& lanes) {
    lanes.each_element(to.shape, [&](unsigned lane, unsigned element) {
      const auto power = static_cast<int>(lanes.sign_extended(exponent, lane, element));
      lanes.set_real(to, lane, element, std::ldexp(lanes.real(x, lane, element), power));
    });
  };
}

// Neighbouring reals of one sign have neighbouring bits.
std::uint64_t next_after(double x, double towards, std::uint64_t bits, unsigned width) {
  const std::uint64_t sign = std::uint64_t{1} << (width - 1);
  if (x == 0) return towards < 0 ? sign | 1 : 1;
  return (x < towards) == ((bits & sign) == 0) ? bits + 1 : bits - 1;
}

Step neighbour(const Operand& to, From from) {
  return [=, x = from[0], y = from[1]](const Lanes& lanes) {
    lanes.each_element(to.shape, [&](unsigned lane, unsigned element) {
      const double a = lanes.real(x, lane, element);
      const double b = lanes.real(y, lane, element);
      if (std::isnan(a) || std::isnan(b)) {
        lanes.set_real(to, lane, element, a + b);
      } else if (a == b) {
        lanes.set_bits(to, lane, element, lanes.bits(y, lane, element));
      } else {
        lanes.set_bits(to, lane, element, next_after(a, b, lanes.bits(x, lane, element), to.shape.bits));
      }
    });
  };
}

// What kinds of reals LLVM tells apart, as bits of a mask: NaNs, and from minus to plus infinity.
std::uint64_t class_of(const Shape& shape, std::uint64_t bits) {
  const unsigned fraction_bits = shape.kind == Kind::kHalf ? 10 : shape.bits == 16 ? 7 : 23;
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << fraction_bits) - 1);
  const std::uint64_t most = (std::uint64_t{1} << (shape.bits - 1 - fraction_bits)) - 1;
  const std::uint64_t exponent = bits >> fraction_bits & most;
  const bool negative = (bits >> (shape.bits - 1) & 1) != 0;
  if (exponent == most && fraction != 0) return fraction >> (fraction_bits - 1) != 0 ? 2 : 1;
  const unsigned size = exponent == most ? 3 : exponent != 0 ? 2 : fraction != 0 ? 1 : 0;
  return std::uint64_t{1} << (negative ? 5 - size : 6 + size);
}

Step is_of_class(const Operand& to, From from) {
  return [=, x = from[0], mask = from[1]](const Lanes& lanes) {
    lanes.each_element(to.shape, [&](unsigned lane, unsigned element) {
      const bool is = (class_of(x.shape, lanes.bits(x, lane, element)) & lanes.bits(mask, lane)) != 0;
      lanes.set_bits(to, lane, element, is ? 1 : 0);
    });
  };
}

// What the optimiser of the source's compiler may write for the same arithmetic.
Step llvm_step(std::string_view name, const Operand& to, From from) {
  if (name.starts_with("is.fpclass.")) return is_of_class(to, from);
  for (const char kind : {'s', 'u'}) {
    if (name.starts_with(kind) && (name.substr(1).starts_with("add.sat.") || name.substr(1).starts_with("sub.sat."))) {
      return integer_function(name[1] == 'a' ? "add_sat" : "sub_sat", kind == 's', to, from);
    }
    if (name.starts_with(kind) && name.substr(1).starts_with("cmp."))
      return integer_function("cmp", kind == 's', to, from);
  }
  const std::string_view operation = name.substr(0, name.find('.'));
  if (operation == "smin" || operation == "smax") return integer_function(operation.substr(1), true, to, from);
  if (operation == "umin" || operation == "umax") return integer_function(operation.substr(1), false, to, from);
  if (operation == "minnum" || operation == "maxnum") {
    return real_function(operation == "minnum" ? "fmin" : "fmax", to, from);
  }
  if (operation == "ctlz" || operation == "cttz") {
    return integer_function(operation == "ctlz" ? "clz" : "ctz", false, to, from.first(1));
  }
  if (operation == "bitreverse") return integer_function("reverse_bits", false, to, from);
  if (operation == "bswap" || operation == "fshl" || operation == "fshr") {
    return integer_function(operation, false, to, from);
  }
  if (operation == "ctpop") return integer_function("popcount", false, to, from);
  if (operation == "abs") return integer_function(operation, true, to, from.first(1));
  return real_function(operation, to, from);
}

}  // namespace

DeclaredName::DeclaredName(std::string_view name) {
  name.remove_prefix(name.starts_with("air.") ? 4 : 0);
  operation = name.substr(0, name.find('.'));
  suffix = name.substr(std::min(operation.size() + 1, name.size()));
}

Step math_step(std::string_view name, const Operand& to, From from) {
  if (name.starts_with("llvm.")) return llvm_step(name.substr(5), to, from);
  DeclaredName declared(name);
  if (declared.operation.starts_with("fast_")) declared.operation.remove_prefix(5);
  if (declared.operation == "dot") return dot(to, from);
  if (declared.operation == "all" || declared.operation == "any") {
    return all_or_any(declared.operation == "all", to, from[0]);
  }
  if (declared.operation == "ldexp") return scale_by_power_of_two(to, from);
  if (declared.operation == "nextafter") return neighbour(to, from);
  if (to.shape.is_real()) return real_function(declared.operation, to, from);
  return integer_function(declared.operation, declared.is_signed(), to, from);
}

}  // namespace anymps::metal::interpret
