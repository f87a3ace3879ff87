#include "backend/observe/signposts.h"

#include <c10/util/Exception.h>

#include <mutex>
#include <sstream>

#include "backend/observe/details.h"

namespace anymps::backend::observe {
namespace {

std::mutex signposts_mutex;
bool signposts_wanted = false;  // stays so behind a mode that is wrong after a right one, as in PyTorch

}  // namespace

void start_signposts(const std::string& mode) {
  const std::lock_guard lock(signposts_mutex);
  TORCH_CHECK(!signposts_wanted, "Tracing Signposts is already enabled ");
  std::stringstream modes(mode);
  for (std::string token; std::getline(modes, token, ',');) {
    if (token.empty()) continue;
    TORCH_CHECK(token == "interval" || token == "event", "Invalid Signpost trace mode: ", token);
    if (!signposts_wanted) begin_details(Watched::kAtItsCall);
    signposts_wanted = true;
  }
}

void stop_signposts() {
  const std::lock_guard lock(signposts_mutex);
  if (signposts_wanted) end_details(Watched::kAtItsCall);
  signposts_wanted = false;
}

}  // namespace anymps::backend::observe
