// What the pages of this house share: one file that needs nothing else, light and dark, on a phone and on a desk.
#pragma once

#include <string>
#include <string_view>

namespace anymps::lab::html {

// From the doctype to the beginning of the body; `style` is added to the common one. `policy` is what the page lets
// itself load and run (Content-Security-Policy), where it says so.
std::string page_head(std::string_view title, std::string_view style, std::string_view policy = {});

// A figure and what it is, for a row of class "cards".
std::string card(std::string_view value, std::string_view label);

// A share of 0 to 1, filled to there, with a tick at another; `label` is for those who cannot see it.
std::string bar(double share, double tick, std::string_view label);

}  // namespace anymps::lab::html
