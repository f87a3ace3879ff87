#include "backend/check.h"

#include <cstdlib>
#include <string>

#include "backend/call_site.h"
#include "gpu/trace.h"

namespace anymps::backend {
namespace {

CheckMode mode_from_environment() {
  const char* text = std::getenv("ANYMPS_CHECK");
  if (text == nullptr || *text == '\0' || std::string_view(text) == "0") return CheckMode::kOff;
  return std::string_view(text) == "stop" ? CheckMode::kStop : CheckMode::kGoOn;
}

// The trace keeps no longer texts.
constexpr std::size_t kLongestSubject = 400;

}  // namespace

CheckMode check_mode() noexcept {
  static const CheckMode mode = mode_from_environment();
  return mode;
}

void note_finding(std::string_view rule, std::string_view subject, std::uint64_t quantity) {
  if (checking()) note_finding_at(call_site(), rule, subject, quantity);
}

void note_finding_at(const std::string& site, std::string_view rule, std::string_view subject, std::uint64_t quantity) {
  gpu::Trace* trace = checking() ? gpu::Trace::current() : nullptr;
  if (trace == nullptr) return;
  std::string name(rule);
  if (!subject.empty()) name.append("\t").append(subject.substr(0, kLongestSubject));
  trace->record(gpu::TraceKind::kFinding, trace->intern(name), trace->intern(site), 0, quantity);
}

}  // namespace anymps::backend
