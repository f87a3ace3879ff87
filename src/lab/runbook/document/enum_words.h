// Enums as the words that documents have for them. An enum has words where a function beside it lists them:
//
//   constexpr EnumWord<Verdict> kVerdictWords[] = {{Verdict::kGood, "good"}, ...};
//   constexpr std::span<const EnumWord<Verdict>> words_of(Verdict) { return kVerdictWords; }
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace anymps::lab::runbook::document {

template <typename Enum>
struct EnumWord {
  Enum value;
  std::string_view word;
};

// Empty for a value that the list lacks.
template <typename Enum>
constexpr std::string_view word_of(Enum value) {
  for (const EnumWord<Enum>& one : words_of(value)) {
    if (one.value == value) return one.word;
  }
  return {};
}

template <typename Enum>
constexpr std::optional<Enum> enum_of(std::string_view word) {
  for (const EnumWord<Enum>& one : words_of(Enum{})) {
    if (one.word == word) return one.value;
  }
  return std::nullopt;
}

}  // namespace anymps::lab::runbook::document
