#include "metal/runtime/reports.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <tuple>

namespace anymps::metal::runtime {
namespace {

constexpr std::size_t kMostPrinted = 16;  // of one launch

using Key = std::tuple<std::string, unsigned, pipeline::Fault>;

struct Published {
  std::mutex mutex;
  std::set<Key> printed;
  std::map<Key, pipeline::ValidationReport> kept;

  static Published& instance() {
    static auto* const published = new Published;
    return *published;
  }
};

std::string_view variable() {
  const char* value = std::getenv("ANYMPS_VALIDATE");
  return value == nullptr ? "" : value;
}

}  // namespace

bool validation_wanted() { return !variable().empty() && variable() != "0"; }
bool validation_strict() { return variable() == "strict"; }

void publish(std::vector<pipeline::ValidationReport> reports) {
  Published& published = Published::instance();
  const std::lock_guard lock(published.mutex);
  std::size_t printed = 0;
  std::size_t left_out = 0;
  for (pipeline::ValidationReport& report : reports) {
    const Key key(report.kernel, report.site, report.fault);
    if (published.printed.insert(key).second) {
      if (printed++ < kMostPrinted) {
        std::fputs(report.text.c_str(), stderr);
      } else {
        ++left_out;
      }
    }
    const auto [kept, fresh] = published.kept.try_emplace(key, report);
    if (!fresh) kept->second.count += report.count;
  }
  if (left_out != 0) {
    std::fprintf(stderr, "anymps validation: kernel %s: %zu more\n", reports.front().kernel.c_str(), left_out);
  }
}

std::vector<pipeline::ValidationReport> take_published() {
  Published& published = Published::instance();
  const std::lock_guard lock(published.mutex);
  std::vector<pipeline::ValidationReport> reports;
  for (auto& [key, report] : published.kept) reports.push_back(std::move(report));
  published.kept.clear();
  return reports;
}

}  // namespace anymps::metal::runtime
