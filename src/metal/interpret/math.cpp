#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

#include "metal/interpret/functions.h"

namespace anymps::metal::interpret {
namespace {

using From = std::span<const Operand>;

double sine_of_half_turns(double x) { return std::sin(std::numbers::pi * std::remainder(x, 2)); }
double cosine_of_half_turns(double x) { return std::cos(std::numbers::pi * std::remainder(x, 2)); }

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
    {"sin", [](double x) { return std::sin(x); }},
    {"sinh", [](double x) { return std::sinh(x); }},
    {"sinpi", sine_of_half_turns},
    {"sqrt", [](double x) { return std::sqrt(x); }},
    {"tan", [](double x) { return std::tan(x); }},
    {"tanh", [](double x) { return std::tanh(x); }},
    {"trunc", [](double x) { return std::trunc(x); }},
};

constexpr std::pair<std::string_view, double (*)(double, double)> kBinary[] = {
    {"atan2", [](double y, double x) { return std::atan2(y, x); }},
    {"divide", [](double x, double y) { return x / y; }},
    {"fmax", [](double x, double y) { return std::fmax(x, y); }},
    {"fmin", [](double x, double y) { return std::fmin(x, y); }},
    {"fmod", [](double x, double y) { return std::fmod(x, y); }},
    {"pow", [](double x, double y) { return std::pow(x, y); }},
    {"powr", [](double x, double y) { return std::pow(x, y); }},
};

template <typename Table>
auto find(const Table& table, std::string_view name) {
  const auto found = std::ranges::find(table, name, [](const auto& entry) { return entry.first; });
  return found == std::end(table) ? nullptr : found->second;
}

Step real_step(const Operand& to, From from, double (*function)(Kind, const std::array<double, 3>&)) {
  std::array<Operand, 3> operands;
  std::ranges::copy(from.first(std::min<std::size_t>(from.size(), 3)), operands.begin());
  return [=, count = std::min<std::size_t>(from.size(), 3)](const Lanes& lanes) {
    lanes.each_element(to.shape, [&](unsigned lane, unsigned element) {
      std::array<double, 3> values{};
      for (std::size_t i = 0; i < count; ++i) values[i] = lanes.real(operands[i], lane, element);
      lanes.set_real(to, lane, element, function(to.shape.kind, values));
    });
  };
}

// Less than one, which x - floor(x) is not for a small negative x.
double fraction(Kind kind, const std::array<double, 3>& x) {
  const double most = kind == Kind::kHalf ? 0x1.ffcp-1 : 0x1.fffffep-1;
  return std::fmin(x[0] - std::floor(x[0]), most);
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
  if (operation == "fma" || operation == "fmuladd") {
    return real_step(
        to, from, [](Kind kind, const std::array<double, 3>& x) { return fused_multiply_add(kind, x[0], x[1], x[2]); });
  }
  if (operation == "clamp") {
    return real_step(to, from,
                     [](Kind, const std::array<double, 3>& x) { return std::fmin(std::fmax(x[0], x[1]), x[2]); });
  }
  if (operation == "fract") return real_step(to, from, fraction);
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

Step integer_step(const Operand& to, From from, std::int64_t (*function)(std::int64_t, std::int64_t, std::int64_t),
                  bool is_signed) {
  std::array<Operand, 3> operands;
  std::ranges::copy(from.first(std::min<std::size_t>(from.size(), 3)), operands.begin());
  return [=, count = std::min<std::size_t>(from.size(), 3)](const Lanes& lanes) {
    lanes.each_element(to.shape, [&](unsigned lane, unsigned element) {
      std::array<std::int64_t, 3> values{};
      for (std::size_t i = 0; i < count; ++i) {
        // The second operand of llvm.abs and the like is one for all elements.
        const unsigned own = element < operands[i].shape.count ? element : 0;
        values[i] = is_signed ? lanes.sign_extended(operands[i], lane, own)
                              : static_cast<std::int64_t>(lanes.bits(operands[i], lane, own));
      }
      lanes.set_bits(to, lane, element, static_cast<std::uint64_t>(function(values[0], values[1], values[2])));
    });
  };
}

// Unsigned 64 bit numbers compare as such.
std::int64_t least(std::int64_t a, std::int64_t b, std::int64_t) { return std::min(a, b); }
std::int64_t most(std::int64_t a, std::int64_t b, std::int64_t) { return std::max(a, b); }
std::int64_t least_unsigned(std::int64_t a, std::int64_t b, std::int64_t) {
  return static_cast<std::uint64_t>(a) < static_cast<std::uint64_t>(b) ? a : b;
}
std::int64_t most_unsigned(std::int64_t a, std::int64_t b, std::int64_t) {
  return static_cast<std::uint64_t>(a) > static_cast<std::uint64_t>(b) ? a : b;
}

Step integer_function(std::string_view operation, bool is_signed, const Operand& to, From from) {
  if (operation == "min") return integer_step(to, from, is_signed ? least : least_unsigned, is_signed);
  if (operation == "max") return integer_step(to, from, is_signed ? most : most_unsigned, is_signed);
  if (operation == "clamp") {
    return integer_step(
        to, from,
        is_signed ? +[](std::int64_t x, std::int64_t low, std::int64_t high) { return least(most(x, low, 0), high, 0); }
                  : +[](std::int64_t x, std::int64_t low,
                        std::int64_t high) { return least_unsigned(most_unsigned(x, low, 0), high, 0); },
        is_signed);
  }
  if (operation == "abs") {
    return integer_step(
        to, from.first(1),
        [](std::int64_t x, std::int64_t, std::int64_t) {
          return x < 0 ? static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(x)) : x;
        },
        true);
  }
  if (operation == "normalize_function_constant_predicate") {
    return integer_step(
        to, from, [](std::int64_t x, std::int64_t, std::int64_t) { return std::int64_t{x != 0}; }, false);
  }
  if (operation == "popcount") {
    return integer_step(
        to, from,
        [](std::int64_t x, std::int64_t, std::int64_t) {
          return std::int64_t{std::popcount(static_cast<std::uint64_t>(x))};
        },
        false);
  }
  return nullptr;
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

Step llvm_step(std::string_view name, const Operand& to, From from) {
  const std::string_view operation = name.substr(0, name.find('.'));
  if (operation == "smin" || operation == "smax") return integer_function(operation.substr(1), true, to, from);
  if (operation == "umin" || operation == "umax") return integer_function(operation.substr(1), false, to, from);
  if (operation == "ctpop") return integer_function("popcount", false, to, from);
  if (operation == "abs") return integer_function(operation, true, to, from);
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
