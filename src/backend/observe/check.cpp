#include "backend/observe/check.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>

#include "backend/runtime/call_site.h"
#include "gpu/trace/trace.h"

namespace anymps::backend::observe {
namespace {

CheckMode mode_from_environment() {
  const char* text = std::getenv("ANYMPS_CHECK");
  if (text == nullptr || *text == '\0' || std::string_view(text) == "0") return CheckMode::kOff;
  return std::string_view(text) == "stop" ? CheckMode::kStop : CheckMode::kGoOn;
}

std::atomic<Expectation> current_expectation{nullptr};

// Of the whole process: a test's threads are allowed what the test is.
std::mutex allowed_mutex;
std::vector<std::string>& allowed_rules() {
  static auto* const rules = new std::vector<std::string>;
  return *rules;
}

// The trace keeps no longer texts.
constexpr std::size_t kLongestSubject = 400;

}  // namespace

CheckMode check_mode() noexcept {
  static const CheckMode mode = mode_from_environment();
  return mode;
}

void note_finding(std::string_view rule, std::string_view subject, std::uint64_t quantity) {
  if (checking()) note_finding_at(runtime::call_site(), rule, subject, quantity);
}

void note_finding_at(const std::string& site, std::string_view rule, std::string_view subject, std::uint64_t quantity) {
  gpu::trace::Trace* trace = checking() ? gpu::trace::Trace::current() : nullptr;
  if (trace == nullptr || is_allowed(rule)) return;
  std::string name(rule);
  if (!subject.empty()) name.append("\t").append(subject.substr(0, kLongestSubject));
  trace->record(gpu::trace::TraceKind::kFinding, trace->intern(name), trace->intern(site), 0, quantity);
}

bool is_expected(const char* error_class) {
  const Expectation expectation = current_expectation.load(std::memory_order_acquire);
  return checking() && expectation != nullptr && expectation(error_class);
}

void set_expectation(Expectation expectation) { current_expectation.store(expectation, std::memory_order_release); }

void allow_rules(std::vector<std::string> rules) {
  const std::lock_guard lock(allowed_mutex);
  allowed_rules() = std::move(rules);
}

bool is_allowed(std::string_view rule) {
  const std::lock_guard lock(allowed_mutex);
  return std::ranges::find(allowed_rules(), rule) != allowed_rules().end();
}

}  // namespace anymps::backend::observe
