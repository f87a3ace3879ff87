#include "backend/runtime/call_site.h"

#include <atomic>
#include <mutex>
#include <utility>

namespace anymps::backend::runtime {
namespace {

std::atomic<CallSiteFinder> current_finder{nullptr};

struct BackwardSites {
  std::mutex mutex;
  std::vector<std::string> sites;
};

BackwardSites& backward() {
  static auto* const only = new BackwardSites;  // other threads may outlive the end of main
  return *only;
}

thread_local const std::string* called_before = nullptr;

constexpr std::size_t kMostBackwardSites = 16;

std::vector<std::string> on_this_thread(std::size_t most) {
  const CallSiteFinder finder = current_finder.load(std::memory_order_acquire);
  return finder != nullptr ? finder(most) : std::vector<std::string>();
}

}  // namespace

std::vector<std::string> call_sites(std::size_t most) {
  if (called_before != nullptr) {
    return called_before->empty() ? std::vector<std::string>() : std::vector<std::string>{*called_before};
  }
  std::vector<std::string> sites = on_this_thread(most);
  if (!sites.empty()) return sites;
  BackwardSites& asked = backward();
  const std::lock_guard lock(asked.mutex);
  sites = asked.sites;
  if (sites.size() > most) sites.resize(most);
  return sites;
}

std::string call_site() {
  std::vector<std::string> sites = call_sites(1);
  return sites.empty() ? std::string() : std::move(sites.front());
}

void remember_backward_site() {
  std::vector<std::string> sites = on_this_thread(kMostBackwardSites);
  BackwardSites& asked = backward();
  const std::lock_guard lock(asked.mutex);
  asked.sites = std::move(sites);
}

CallSiteScope::CallSiteScope(const std::string& site) noexcept : before_(std::exchange(called_before, &site)) {}

CallSiteScope::~CallSiteScope() { called_before = before_; }

void set_call_site_finder(CallSiteFinder finder) { current_finder.store(finder, std::memory_order_release); }

}  // namespace anymps::backend::runtime
