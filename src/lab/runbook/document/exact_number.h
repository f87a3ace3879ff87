// A number that may be NaN or infinite, which JSON has no numbers for: those are texts there.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include "lab/runbook/document/described.h"

namespace anymps::lab::runbook::document {

struct ExactNumber {
  double value = 0;

  ExactNumber() = default;
  ExactNumber(double number) : value(number) {}
  operator double() const { return value; }
};

namespace detail {

template <>
struct Kind<ExactNumber> {
  static nlohmann::json write(const ExactNumber& number) {
    return std::isfinite(number.value) ? nlohmann::json(number.value) : nlohmann::json(fmt::format("{}", number.value));
  }
  static bool read(const nlohmann::json& from, ExactNumber& number) {
    if (const auto* text = from.get_ptr<const std::string*>()) {
      char* end = nullptr;
      const double read = std::strtod(text->c_str(), &end);
      if (end == text->c_str() || *end != '\0') return false;
      number = read;
      return true;
    }
    return detail::read(from, number.value);
  }
};

}  // namespace detail
}  // namespace anymps::lab::runbook::document
