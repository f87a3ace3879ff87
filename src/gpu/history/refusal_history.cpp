#include "gpu/history/refusal_history.h"

#include <algorithm>
#include <array>
#include <ranges>

#include "gpu/history/release_number.h"

namespace anymps::gpu::history {
namespace {

constexpr RefusalHistory kRefusalHistories[] = {
#include "refusal_history.inc"
};

// The ranges name minor releases: 2.13 is every 2.13.x.
std::array<unsigned, 2> minor_release(std::string_view release) {
  const auto [major, minor, patch] = release_number(release);
  return {major, minor};
}

std::string_view operator_alone(std::string_view name) { return name.substr(0, name.find('.')); }

}  // namespace

bool refusals_known(std::string_view release) { return minor_release(release) >= minor_release(kFirstKnownRefusals); }

bool RefusalHistory::concerns(std::string_view release) const {
  const auto number = minor_release(release);
  return refusals_known(release) && (first.empty() || number >= minor_release(first)) &&
         (last.empty() || number <= minor_release(last));
}

bool RefusalHistory::names(std::string_view operator_name) const {
  return std::ranges::any_of(std::views::split(operators, std::string_view(", ")), [&](auto part) {
    const std::string_view name(part.begin(), part.end());
    return name == operator_name || operator_alone(name) == operator_name || name == operator_alone(operator_name);
  });
}

// What stands between the places that a call fills in must come in the message, in that order.
bool RefusalHistory::can_be_text_of(std::string_view message) const {
  std::size_t filled = text.find('{');
  if (filled == text.npos) return message == text;
  if (!message.starts_with(text.substr(0, filled))) return false;
  std::size_t at = filled;
  while (filled != text.npos) {
    const std::size_t begin = text.find('}', filled) + 1;
    filled = text.find('{', begin);
    const std::string_view literal = text.substr(begin, filled == text.npos ? text.npos : filled - begin);
    if (filled == text.npos) return message.size() >= at + literal.size() && message.ends_with(literal);
    const std::size_t found = message.find(literal, at);
    if (found == message.npos) return false;
    at = found + literal.size();
  }
  return true;
}

std::span<const RefusalHistory> refusal_histories() { return kRefusalHistories; }

}  // namespace anymps::gpu::history
