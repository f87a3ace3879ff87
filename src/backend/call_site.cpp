#include "backend/call_site.h"

#include <atomic>

namespace anymps::backend {
namespace {
std::atomic<CallSiteFinder> current_finder{nullptr};
}

std::string call_site() {
  const CallSiteFinder finder = current_finder.load(std::memory_order_acquire);
  return finder != nullptr ? finder() : std::string();
}

void set_call_site_finder(CallSiteFinder finder) { current_finder.store(finder, std::memory_order_release); }

}  // namespace anymps::backend
