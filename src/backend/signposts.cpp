#include "backend/signposts.h"

#include <c10/util/Exception.h>

#include <mutex>
#include <sstream>

#include "backend/details.h"

namespace anymps::backend {
namespace {

std::mutex mutex;
bool wanted = false;  // stays so behind a mode that is wrong after a right one, as in PyTorch

}  // namespace

void start_signposts(const std::string& mode) {
  const std::lock_guard lock(mutex);
  TORCH_CHECK(!wanted, "Tracing Signposts is already enabled ");
  std::stringstream modes(mode);
  for (std::string token; std::getline(modes, token, ',');) {
    if (token.empty()) continue;
    TORCH_CHECK(token == "interval" || token == "event", "Invalid Signpost trace mode: ", token);
    if (!wanted) begin_details();
    wanted = true;
  }
}

void stop_signposts() {
  const std::lock_guard lock(mutex);
  if (wanted) end_details();
  wanted = false;
}

}  // namespace anymps::backend
