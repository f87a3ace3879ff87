#include "lab/html/page.h"

#include <fmt/format.h>

#include <algorithm>

#include "lab/html/escape.h"

namespace anymps::lab::html {
namespace {

constexpr std::string_view kPageStyle =
#include "assets/page.css.inc"
    ;

double clamped_percent(double share) { return 100 * std::clamp(share, 0.0, 1.0); }

}  // namespace

std::string page_head(std::string_view title, std::string_view style, std::string_view policy) {
  const std::string policy_tag =
      policy.empty() ? ""
                     : fmt::format("<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">", escaped(policy));
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">{}<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\"><title>{}</title><style>{}{}</style></head><body>\n",
      policy_tag, escaped(title), kPageStyle, style);
}

std::string card(std::string_view value, std::string_view label) {
  return fmt::format("<div class=\"card\"><b>{}</b><span>{}</span></div>\n", escaped(value), escaped(label));
}

std::string bar(double share, double tick, std::string_view label) {
  return fmt::format(
      "<div class=\"track\" title=\"{0}\" role=\"img\" aria-label=\"{0}\"><div class=\"fill\" "
      "style=\"width:{1:.1f}%\"></div><div class=\"tick\" style=\"left:{2:.1f}%\"></div></div>",
      escaped(label), clamped_percent(share), clamped_percent(tick));
}

}  // namespace anymps::lab::html
