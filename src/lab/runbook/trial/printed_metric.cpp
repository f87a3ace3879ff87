#include "lab/runbook/trial/printed_metric.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace anymps::lab::runbook::trial {
namespace {

bool is_in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::optional<double> number_in_front(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\"'"), text.size()));
  if (!text.empty() && (text.front() == ':' || text.front() == '=')) text.remove_prefix(1);
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  const std::string copy(text.substr(0, 64));
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  // "info" begins with a number, too, in strtod's eyes.
  if (end == copy.c_str() || is_in_name(*end)) return std::nullopt;
  return value;
}

std::optional<double> last_in_line(std::string_view line, std::string_view name) {
  for (std::size_t at = line.rfind(name); at != std::string_view::npos; at = line.rfind(name, at - 1)) {
    const bool begins = at == 0 || !is_in_name(line[at - 1]);
    const std::string_view rest = line.substr(at + name.size());
    if (begins && !rest.empty() && !is_in_name(rest.front())) {
      if (const auto value = number_in_front(rest)) return value;
    }
    if (at == 0) break;
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> last_metric(std::istream& printed, std::string_view name) {
  std::optional<double> last;
  if (name.empty()) return last;
  // A bar that redraws itself puts many of them on one line, of which the last counts.
  for (std::string line; std::getline(printed, line);) {
    if (const auto value = last_in_line(line, name)) last = value;
  }
  return last;
}

}  // namespace anymps::lab::runbook::trial
