// How a command of the runbook ends.
#pragma once

#include <span>
#include <string_view>

#include "lab/runbook/document/enum_words.h"

namespace anymps::lab::runbook::document {

enum class Verdict {
  kGood,
  kBad,
  kUnknown,  // it could not be found out
};

constexpr EnumWord<Verdict> kVerdictWords[] = {
    {Verdict::kGood, "good"}, {Verdict::kBad, "bad"}, {Verdict::kUnknown, "unknown"}};
constexpr std::span<const EnumWord<Verdict>> words_of(Verdict /*value*/) { return kVerdictWords; }

constexpr std::string_view verdict_text(Verdict verdict) { return word_of(verdict); }

constexpr Verdict verdict_from(std::string_view text) { return enum_of<Verdict>(text).value_or(Verdict::kUnknown); }

// The status that the program ends with.
constexpr int exit_status(Verdict verdict) {
  switch (verdict) {
    case Verdict::kGood:
      return 0;
    case Verdict::kBad:
      return 1;
    default:
      return 2;
  }
}

}  // namespace anymps::lab::runbook::document
