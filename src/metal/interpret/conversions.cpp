// "air.convert.f.f16.s.i32" and the like: the kind and type of the result, then of the operand.
#include "metal/interpret/functions.h"

namespace anymps::metal::interpret {
namespace {

void convert(const Lanes& lanes, const Operand& to, const Operand& from, bool to_signed, bool from_signed,
             unsigned lane, unsigned element) {
  if (from.shape.is_real()) {
    const double value = lanes.real(from, lane, element);
    if (to.shape.is_real()) {
      lanes.set_real(to, lane, element, value);
    } else if (to.shape.bits == 1) {
      lanes.set_bits(to, lane, element, value != 0 ? 1 : 0);
    } else {
      lanes.set_bits(to, lane, element, real_as_integer(value, to.shape.bits, to_signed));
    }
    return;
  }
  const std::int64_t extended = lanes.sign_extended(from, lane, element);
  const std::uint64_t bits = from_signed ? static_cast<std::uint64_t>(extended) : lanes.bits(from, lane, element);
  if (!to.shape.is_real()) {
    lanes.set_bits(to, lane, element, to.shape.bits == 1 && bits != 0 ? 1 : bits);
    return;
  }
  const bool negative = from_signed && extended < 0;
  write_integer_as_real(to.shape.kind, lanes.write(to, lane) + element * to.shape.element_bytes,
                        negative ? 0 - bits : bits, negative);
}

}  // namespace

Step conversion_step(const DeclaredName& name, const Operand& to, std::span<const Operand> from) {
  if (name.operation != "convert") return nullptr;
  const std::string_view source = name.suffix.substr(name.suffix.find('.', 2) + 1);
  return [=, to_signed = name.is_signed(), from_signed = source.starts_with("s."), x = from[0]](const Lanes& lanes) {
    lanes.each_element(to.shape, [&](unsigned lane, unsigned element) {
      convert(lanes, to, x, to_signed, from_signed, lane, element);
    });
  };
}

}  // namespace anymps::metal::interpret
