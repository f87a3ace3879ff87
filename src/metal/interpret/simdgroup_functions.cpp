// Simdgroup and quad functions. Metal says what active lanes see of one another. What it leaves undefined is chosen
// here: a lane that is not active gives zero, a lane's number counts modulo the width of the group.
#include <array>
#include <cmath>
#include <optional>

#include "metal/interpret/functions.h"

namespace anymps::metal::interpret {
namespace {

using From = std::span<const Operand>;

struct Group {
  unsigned width;  // 32, or 4 for quads

  unsigned first(unsigned lane) const { return lane / width * width; }
  unsigned within(unsigned lane) const { return lane % width; }
  // The active lanes around this one, the group's first as bit 0.
  Mask active(const Lanes& lanes, unsigned lane) const {
    return lanes.active >> first(lane) & (width == kLanes ? ~Mask{0} : bit_of(width) - 1);
  }
};

using Combine = std::uint64_t (*)(const Shape& shape, std::uint64_t a, std::uint64_t b);

template <typename Operation>
constexpr Combine kCombineReals = [](const Shape& shape, std::uint64_t a, std::uint64_t b) {
  std::uint64_t bits = 0;
  write_real(shape.kind, reinterpret_cast<std::byte*>(&bits),
             Operation{}(read_real(shape.kind, reinterpret_cast<const std::byte*>(&a)),
                         read_real(shape.kind, reinterpret_cast<const std::byte*>(&b))));
  return bits;
};
template <typename Operation>
constexpr Combine kCombineIntegers =
    [](const Shape&, std::uint64_t a, std::uint64_t b) { return std::uint64_t{Operation{}(a, b)}; };
template <typename Operation>
constexpr Combine kCombineSigned = [](const Shape& shape, std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>(Operation{}(sign_extended(a, shape.bits), sign_extended(b, shape.bits)));
};

struct Least {
  double operator()(double a, double b) const { return std::fmin(a, b); }
  template <typename T>
  T operator()(T a, T b) const {
    return a < b ? a : b;
  }
};
struct Most {
  double operator()(double a, double b) const { return std::fmax(a, b); }
  template <typename T>
  T operator()(T a, T b) const {
    return a > b ? a : b;
  }
};

Combine combine_of(std::string_view operation, bool real, bool is_signed) {
  if (operation == "sum") return real ? kCombineReals<std::plus<>> : kCombineIntegers<std::plus<>>;
  if (operation == "product") return real ? kCombineReals<std::multiplies<>> : kCombineIntegers<std::multiplies<>>;
  if (operation == "min")
    return real ? kCombineReals<Least> : is_signed ? kCombineSigned<Least> : kCombineIntegers<Least>;
  if (operation == "max") return real ? kCombineReals<Most> : is_signed ? kCombineSigned<Most> : kCombineIntegers<Most>;
  if (real) return nullptr;
  if (operation == "and") return kCombineIntegers<std::bit_and<>>;
  if (operation == "or") return kCombineIntegers<std::bit_or<>>;
  if (operation == "xor") return kCombineIntegers<std::bit_xor<>>;
  return nullptr;
}

// By halves: lane 0 is combined with lane 16, then lane 8, and so on. Metal does not say in which order.
Step reduction(Combine combine, Group group, const Operand& to, const Operand& x) {
  return [=](const Lanes& lanes) {
    for (unsigned element = 0; element < to.shape.count; ++element) {
      std::array<std::uint64_t, kLanes> values{};
      lanes.each([&](unsigned lane) { values[lane] = lanes.bits(x, lane, element); });
      Mask present = lanes.active;
      for (unsigned half = group.width / 2; half != 0; half /= 2) {
        for (unsigned lane = 0; lane < kLanes; ++lane) {
          const unsigned other = lane + half;
          if (group.within(lane) >= half || (present & bit_of(other)) == 0) continue;
          const bool both = (present & bit_of(lane)) != 0;
          values[lane] = both ? combine(x.shape, values[lane], values[other]) : values[other];
          present |= bit_of(lane);
        }
      }
      lanes.each([&](unsigned lane) { lanes.set_bits(to, lane, element, values[group.first(lane)]); });
    }
  };
}

Step prefix(Combine combine, bool inclusive, std::uint64_t neutral, Group group, const Operand& to, const Operand& x) {
  return [=](const Lanes& lanes) {
    for (unsigned element = 0; element < to.shape.count; ++element) {
      std::uint64_t running = neutral;
      unsigned first = kLanes;
      lanes.each([&](unsigned lane) {
        if (group.first(lane) != first) running = neutral;
        first = group.first(lane);
        const std::uint64_t with = combine(x.shape, running, lanes.bits(x, lane, element));
        lanes.set_bits(to, lane, element, inclusive ? with : running);
        running = with;
      });
    }
  };
}

// The lane whose value a lane takes. A shuffle up or down leaves those alone that have no such lane.
using Source = unsigned (*)(Group group, unsigned lane, unsigned by);

Source source_of(std::string_view operation) {
  if (operation == "shuffle" || operation == "broadcast") {
    return [](Group group, unsigned lane, unsigned by) { return group.first(lane) + group.within(by); };
  }
  if (operation == "shuffle_xor") {
    return [](Group group, unsigned lane, unsigned by) { return group.first(lane) + group.within(lane ^ by); };
  }
  if (operation == "shuffle_up") {
    return [](Group group, unsigned lane, unsigned by) { return group.within(lane) >= by ? lane - by : lane; };
  }
  if (operation == "shuffle_down") {
    return [](Group group, unsigned lane, unsigned by) {
      return group.within(lane) + by < group.width ? lane + by : lane;
    };
  }
  if (operation == "shuffle_rotate_up") {
    return [](Group group, unsigned lane, unsigned by) {
      return group.first(lane) + group.within(lane + group.width - group.within(by));
    };
  }
  if (operation == "shuffle_rotate_down") {
    return [](Group group, unsigned lane, unsigned by) { return group.first(lane) + group.within(lane + by); };
  }
  return nullptr;
}

using Cells = std::array<std::array<std::byte, 64>, kLanes>;

// What all lanes give, before any of them takes: a value may be its own result's operand.
Cells gather(const Lanes& lanes, const Operand& x) {
  Cells cells{};
  lanes.each([&](unsigned lane) { std::memcpy(cells[lane].data(), lanes.read(x, lane), x.shape.bytes()); });
  return cells;
}

Step shuffle_lanes(Source source, Group group, const Operand& to, From from) {
  return [=, x = from[0], by = from[1]](const Lanes& lanes) {
    const Cells cells = gather(lanes, x);
    lanes.each([&](unsigned lane) {
      lanes.copy(to, lane, cells[source(group, lane, static_cast<unsigned>(lanes.bits(by, lane)))].data());
    });
  };
}

// Moves up or down within runs of `modulo` lanes; what comes in is the filling of the run's other end.
Step shuffle_and_fill(bool up, Group group, const Operand& to, From from) {
  return [=, x = from[0], filling = from[1], by = from[2], modulo = from[3]](const Lanes& lanes) {
    const Cells data = gather(lanes, x);
    const Cells fill = gather(lanes, filling);
    lanes.each([&](unsigned lane) {
      auto run = static_cast<unsigned>(lanes.bits(modulo, lane));
      if (run == 0 || run > group.width) run = group.width;
      const unsigned delta = static_cast<unsigned>(lanes.bits(by, lane)) % (run + 1);
      const unsigned place = lane % run + (up ? run - delta : delta);
      const bool filled = up ? place < run : place >= run;
      lanes.copy(to, lane, (filled ? fill : data)[lane / run * run + place % run].data());
    });
  };
}

Step broadcast_first(Group group, const Operand& to, const Operand& x) {
  return [=](const Lanes& lanes) {
    const Cells cells = gather(lanes, x);
    lanes.each([&](unsigned lane) {
      const auto first = static_cast<unsigned>(std::countr_zero(group.active(lanes, lane)));
      lanes.copy(to, lane, cells[group.first(lane) + first].data());
    });
  };
}

// Of the lanes that are active, those where `x` holds; one for all lanes where `answer` makes a number of it.
using Answer = std::uint64_t (*)(Mask active, Mask holds, unsigned within);

Answer answer_of(std::string_view operation) {
  if (operation == "all") {
    return [](Mask active, Mask holds, unsigned) { return std::uint64_t{holds == active}; };
  }
  if (operation == "any") return [](Mask, Mask holds, unsigned) { return std::uint64_t{holds != 0}; };
  if (operation == "ballot") return [](Mask, Mask holds, unsigned) { return std::uint64_t{holds}; };
  if (operation == "active_threads_mask") return [](Mask active, Mask, unsigned) { return std::uint64_t{active}; };
  if (operation == "is_first") {
    return [](Mask active, Mask, unsigned within) {
      return std::uint64_t{static_cast<unsigned>(std::countr_zero(active)) == within};
    };
  }
  return nullptr;
}

Step vote(Answer answer, Group group, const Operand& to, From from) {
  return [=, x = from.empty() ? std::optional<Operand>() : from[0]](const Lanes& lanes) {
    Mask holds = 0;
    lanes.each([&](unsigned lane) { holds |= x && lanes.bits(*x, lane) != 0 ? bit_of(lane) : 0; });
    Lanes where = lanes;
    where.active = holds;
    lanes.each([&](unsigned lane) {
      const std::uint64_t bits = answer(group.active(lanes, lane), group.active(where, lane), group.within(lane));
      lanes.set_bits(to, lane, 0, bits);
    });
  };
}

Step uniform(Group group, const Operand& to, const Operand& x) {
  return [=](const Lanes& lanes) {
    const Cells cells = gather(lanes, x);
    Mask differ = 0;
    lanes.each([&](unsigned lane) {
      const auto first = static_cast<unsigned>(std::countr_zero(group.active(lanes, lane)));
      if (cells[lane] != cells[group.first(lane) + first]) differ |= bit_of(lane);
    });
    Lanes where = lanes;
    where.active = differ;
    lanes.each([&](unsigned lane) { lanes.set_bits(to, lane, 0, group.active(where, lane) == 0 ? 1 : 0); });
  };
}

Step constant(const Operand& to, std::uint64_t value) {
  return [=](const Lanes& lanes) { lanes.each([&](unsigned lane) { lanes.set_bits(to, lane, 0, value); }); };
}

}  // namespace

Step simdgroup_step(const DeclaredName& name, const Operand& to, From from) {
  std::string_view operation = name.operation;
  if (operation == "simdgroup" && name.suffix == "barrier") return [](const Lanes&) {};  // lanes are never apart
  if (operation == "get_simdgroup_size") return constant(to, kLanes);
  if (operation == "get_quadgroup_size") return constant(to, kQuad);
  if (operation == "get_thread_index_in_simdgroup") {
    return [=](const Lanes& lanes) { lanes.each([&](unsigned lane) { lanes.set_bits(to, lane, 0, lane); }); };
  }
  if (operation == "get_simdgroup_index_in_threadgroup") {
    return
        [=](const Lanes& lanes) { lanes.each([&](unsigned lane) { lanes.set_bits(to, lane, 0, lanes.simdgroup); }); };
  }
  if (operation == "is_uniform") return uniform({kLanes}, to, from[0]);
  const bool quad = operation.starts_with("quad_");
  if (!quad && !operation.starts_with("simd_")) return nullptr;
  operation.remove_prefix(5);
  const Group group{quad ? kQuad : kLanes};
  if (const Answer answer = answer_of(operation)) return vote(answer, group, to, from);
  if (from.empty() || to.shape.bytes() > sizeof(Cells::value_type)) return nullptr;
  if (const Source source = source_of(operation)) return shuffle_lanes(source, group, to, from);
  if (operation == "shuffle_and_fill_up" || operation == "shuffle_and_fill_down") {
    return shuffle_and_fill(operation.ends_with("up"), group, to, from);
  }
  if (operation == "broadcast_first") return broadcast_first(group, to, from[0]);
  if (operation == "is_uniform") return uniform(group, to, from[0]);
  const bool inclusive = operation.starts_with("prefix_inclusive_");
  if (inclusive || operation.starts_with("prefix_exclusive_")) {
    operation.remove_prefix(sizeof("prefix_inclusive_") - 1);
    if (operation != "sum" && operation != "product") return nullptr;
    std::uint64_t neutral = operation == "sum" ? 0 : 1;
    if (to.shape.is_real())
      write_real(to.shape.kind, reinterpret_cast<std::byte*>(&neutral), operation == "sum" ? 0 : 1);
    return prefix(combine_of(operation, to.shape.is_real(), false), inclusive, neutral, group, to, from[0]);
  }
  const Combine combine = combine_of(operation, to.shape.is_real(), name.is_signed());
  return combine == nullptr ? Step() : reduction(combine, group, to, from[0]);
}

}  // namespace anymps::metal::interpret
