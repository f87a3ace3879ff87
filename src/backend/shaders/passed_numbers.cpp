#include "backend/shaders/passed_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

namespace anymps::backend::shaders {
namespace {

struct Declared {
  NumberKind kind = NumberKind::kInteger;
  std::size_t bytes = 0;
  unsigned width = 1;  // of a vector
};

struct TypeRow {
  std::string_view name;
  NumberKind kind;
  std::size_t bytes;
};
constexpr TypeRow kTypes[] = {
    {"bool", NumberKind::kInteger, 1},  {"char", NumberKind::kInteger, 1},   {"uchar", NumberKind::kInteger, 1},
    {"short", NumberKind::kInteger, 2}, {"ushort", NumberKind::kInteger, 2}, {"int", NumberKind::kInteger, 4},
    {"uint", NumberKind::kInteger, 4},  {"long", NumberKind::kInteger, 8},   {"ulong", NumberKind::kInteger, 8},
    {"half", NumberKind::kFloat, 2},    {"float", NumberKind::kFloat, 4},    {"bfloat", NumberKind::kBfloat, 2},
};

std::optional<Declared> declared(std::string_view type) {
  constexpr std::string_view kPacked = "packed_";
  if (type.starts_with(kPacked)) type.remove_prefix(kPacked.size());
  for (const TypeRow& row : kTypes) {
    if (!type.starts_with(row.name)) continue;
    const std::string_view width = type.substr(row.name.size());
    if (width.empty()) return Declared{row.kind, row.bytes, 1};
    if (width == "2" || width == "3" || width == "4") {
      return Declared{row.kind, row.bytes, static_cast<unsigned>(width[0] - '0')};
    }
  }
  return std::nullopt;
}

// The first bytes of an integer are those of a shorter one, where there is one only.
bool arrives(const Declared& declared, const PassedNumbers& passed) {
  if (declared.kind != passed.kind) return false;
  if (declared.bytes == passed.bytes) return true;
  return passed.kind == NumberKind::kInteger && declared.bytes < passed.bytes && passed.count == 1 &&
         declared.width == 1;
}

std::string_view words(const PassedNumbers& passed) {
  switch (passed.kind) {
    case NumberKind::kInteger:
      return "integer";
    case NumberKind::kFloat:
      return "floating-point number";
    case NumberKind::kBfloat:
      return "bfloat";
  }
  return "";
}

std::string remedy(const Declared& declared, unsigned index) {
  if (declared.kind == NumberKind::kFloat && declared.bytes == 4)
    return declared.width == 1 ? "pass a float" : "pass floats";
  if (declared.kind == NumberKind::kInteger && declared.bytes == 8) return "pass integers";
  const std::string cast = declared.kind == NumberKind::kBfloat  ? "bf16"
                           : declared.kind == NumberKind::kFloat ? "fp16"
                                                                 : fmt::format("int{}", declared.bytes * 8);
  return fmt::format("pass arg_casts={{{}: \"{}\"}}", index, cast);
}

}  // namespace

std::string mismatch(const metal::air::Signature& signature, unsigned index, const PassedNumbers& passed) {
  const auto argument = std::ranges::find_if(signature.arguments, [&](const metal::air::Argument& one) {
    return one.kind == metal::air::ArgumentKind::kBuffer && one.binding == index;
  });
  if (argument == signature.arguments.end()) return {};
  const std::optional<Declared> type = declared(argument->type_name);
  if (!type || arrives(*type, passed)) return {};
  return fmt::format(
      "kernel `{}`: argument `{}` (buffer {}) is declared as {}, and what was passed arrives as {} {} of {} bytes: "
      "the kernel reads other values than were written. To be read as declared, {}",
      signature.kernel, argument->name, index, argument->type_name,
      passed.count == 1 ? "one" : fmt::to_string(passed.count),
      passed.count == 1 ? std::string(words(passed)) : std::string(words(passed)) + "s", passed.bytes,
      remedy(*type, index));
}

}  // namespace anymps::backend::shaders
