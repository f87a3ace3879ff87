// Atomics, and functions that read or write through a pointer.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "metal/interpret/functions.h"

namespace anymps::metal::interpret {
namespace {

using From = std::span<const Operand>;

// What is in memory afterwards, of what was and what is given.
using Update = std::uint64_t (*)(const Shape& shape, std::uint64_t was, std::uint64_t given);

double as_real(const Shape& shape, std::uint64_t bits) {
  return read_real(shape.kind, reinterpret_cast<const std::byte*>(&bits));
}
std::uint64_t real_bits(const Shape& shape, double value) {
  std::uint64_t bits = 0;
  write_real(shape.kind, reinterpret_cast<std::byte*>(&bits), value);
  return bits;
}

Update update_of(std::string_view operation, bool is_signed) {
  if (operation == "add") {
    return [](const Shape& shape, std::uint64_t was, std::uint64_t given) {
      return shape.is_real() ? real_bits(shape, as_real(shape, was) + as_real(shape, given)) : was + given;
    };
  }
  if (operation == "sub") {
    return [](const Shape& shape, std::uint64_t was, std::uint64_t given) {
      return shape.is_real() ? real_bits(shape, as_real(shape, was) - as_real(shape, given)) : was - given;
    };
  }
  if (operation == "and") return [](const Shape&, std::uint64_t was, std::uint64_t given) { return was & given; };
  if (operation == "or") return [](const Shape&, std::uint64_t was, std::uint64_t given) { return was | given; };
  if (operation == "xor") return [](const Shape&, std::uint64_t was, std::uint64_t given) { return was ^ given; };
  if (operation == "xchg" || operation == "store") {
    return [](const Shape&, std::uint64_t, std::uint64_t given) { return given; };
  }
  if (operation == "load") return [](const Shape&, std::uint64_t was, std::uint64_t) { return was; };
  if (operation == "min" && is_signed) {
    return [](const Shape& shape, std::uint64_t was, std::uint64_t given) {
      return sign_extended(given, shape.bits) < sign_extended(was, shape.bits) ? given : was;
    };
  }
  if (operation == "max" && is_signed) {
    return [](const Shape& shape, std::uint64_t was, std::uint64_t given) {
      return sign_extended(given, shape.bits) > sign_extended(was, shape.bits) ? given : was;
    };
  }
  if (operation == "min")
    return [](const Shape&, std::uint64_t was, std::uint64_t given) { return std::min(was, given); };
  if (operation == "max")
    return [](const Shape&, std::uint64_t was, std::uint64_t given) { return std::max(was, given); };
  return nullptr;
}

// Other launches may be at the same memory: `change` sees what was there and says what shall be.
template <typename Change>
std::uint64_t exchange(std::byte* address, unsigned bytes, Change change) {
  const auto of_type = [&]<typename T>(T) -> std::uint64_t {
    const std::atomic_ref<T> cell(*reinterpret_cast<T*>(address));
    T was = cell.load();
    while (!cell.compare_exchange_weak(was, static_cast<T>(change(was)))) {
    }
    return was;
  };
  return bytes == 8 ? of_type(std::uint64_t{}) : of_type(std::uint32_t{});
}

// Lanes come one after the other. "weak" never fails without cause here.
Step compare_exchange(const Operand& to, From from) {
  return [=, address = from[0], expected = from[1], desired = from[2]](const Lanes& lanes) {
    lanes.each([&](unsigned lane) {
      const unsigned bytes = desired.shape.element_bytes;
      const std::uint64_t hoped = read_bits(lanes.pointer(expected, lane), bytes);
      const std::uint64_t was = exchange(lanes.pointer(address, lane), bytes, [&](std::uint64_t found) {
        return found == hoped ? lanes.bits(desired, lane) : found;
      });
      write_bits(lanes.pointer(expected, lane), bytes, was);
      lanes.set_bits(to, lane, 0, was);
    });
  };
}

// "global.add.u.i32": the space, the operation, and what it works on.
Step atomic_step(std::string_view what, const Operand& to, From from) {
  if (what == "fence") return [](const Lanes&) {};
  what.remove_prefix(what.find('.') + 1);
  const std::string_view operation = what.substr(0, what.find('.'));
  if (operation == "cmpxchg") return compare_exchange(to, from);
  const bool is_signed = what.find(".s.") != std::string_view::npos;
  const Update update = update_of(operation, is_signed);
  const Shape& shape = operation == "load" ? to.shape : from[1].shape;
  if (update == nullptr || (shape.element_bytes != 4 && shape.element_bytes != 8)) return nullptr;
  return [=, address = from[0], value = from[1]](const Lanes& lanes) {
    lanes.each([&](unsigned lane) {
      const std::uint64_t given = lanes.bits(value, lane);
      const std::uint64_t was = exchange(lanes.pointer(address, lane), shape.element_bytes,
                                         [&](std::uint64_t found) { return update(shape, found, given); });
      if (to.shape.count != 0) lanes.set_bits(to, lane, 0, was);
    });
  };
}

Step block_copy(From from) {
  return [to = from[0], source = from[1], bytes = from[2]](const Lanes& lanes) {
    lanes.each([&](unsigned lane) {
      std::memmove(lanes.pointer(to, lane), lanes.pointer(source, lane), lanes.bits(bytes, lane));
    });
  };
}

Step block_fill(From from) {
  return [to = from[0], value = from[1], bytes = from[2]](const Lanes& lanes) {
    lanes.each([&](unsigned lane) {
      std::memset(lanes.pointer(to, lane), static_cast<int>(lanes.bits(value, lane)), lanes.bits(bytes, lane));
    });
  };
}

// The sine, and the cosine into memory.
Step sine_and_cosine(const Operand& to, From from) {
  return [=, x = from[0], cosine = from[1]](const Lanes& lanes) {
    lanes.each_element(to.shape, [&](unsigned lane, unsigned element) {
      const double angle = lanes.real(x, lane, element);
      write_real(to.shape.kind, lanes.pointer(cosine, lane) + element * to.shape.element_bytes, std::cos(angle));
      lanes.set_real(to, lane, element, std::sin(angle));
    });
  };
}

}  // namespace

Step memory_step(std::string_view name, const Operand& to, From from) {
  if (name.starts_with("llvm.lifetime.") || name.starts_with("llvm.assume") ||
      name.starts_with("llvm.experimental.noalias.scope")) {
    return [](const Lanes&) {};
  }
  if (name.starts_with("llvm.memcpy.") || name.starts_with("llvm.memmove.")) return block_copy(from);
  if (name.starts_with("llvm.memset.")) return block_fill(from);
  if (name.starts_with("air.atomic.")) return atomic_step(name.substr(11), to, from);
  if (name.starts_with("air.sincos.") || name.starts_with("air.fast_sincos.")) return sine_and_cosine(to, from);
  return nullptr;
}

}  // namespace anymps::metal::interpret
