#include "lab/runbook/report/assets.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "gpu/support/sha256.h"

namespace anymps::lab::runbook::report {
namespace {

// As a Content-Security-Policy names a hash (RFC 4648).
std::string base64(std::span<const std::byte> bytes) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = i; j < i + 3; ++j) {
      group = group << 8 | (j < bytes.size() ? std::to_integer<std::uint32_t>(bytes[j]) : 0);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      text += i + j <= bytes.size() ? kLetters[group >> (18 - 6 * j) & 63] : '=';
    }
  }
  return text;
}

}  // namespace

std::string_view report_style() {
  return
#include "assets/report.css.inc"
      ;
}

std::string_view report_script() {
  return
#include "assets/report.js.inc"
      ;
}

std::string report_policy() {
  const std::string_view script = report_script();
  gpu::support::Sha256 hash;
  hash.update(std::as_bytes(std::span(script)));
  return fmt::format("default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{}'",
                     base64(hash.finish()));
}

}  // namespace anymps::lab::runbook::report
