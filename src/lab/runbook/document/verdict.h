// How a command of the runbook ends.
#pragma once

#include <string_view>

namespace anymps::lab::runbook::document {

enum class Verdict {
  kGood,
  kBad,
  kUnknown,  // it could not be found out
};

constexpr std::string_view verdict_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::kGood:
      return "good";
    case Verdict::kBad:
      return "bad";
    default:
      return "unknown";
  }
}

constexpr Verdict verdict_from(std::string_view text) {
  if (text == "good") return Verdict::kGood;
  return text == "bad" ? Verdict::kBad : Verdict::kUnknown;
}

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
