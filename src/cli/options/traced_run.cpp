#include "cli/options/traced_run.h"

#include "gpu/support/whole_file.h"
#include "lab/base/log.h"
#include "lab/host/child.h"

namespace anymps::cli::options {

void trace_into(lab::host::ChildCommand& command, const std::string& folder) {
  command.environment["ANYMPS_RUN"] = folder;
  command.environment["ANYMPS_REQUIRED"] = "1";
}

void say_not_started(const lab::host::ChildCommand& command, const lab::host::ChildResult& result) {
  lab::base::log().error("cannot start {}: {}", command.words.front(), result.start_error);
}

bool can_write(const char* option, const std::string& path) {
  const std::string why = path.empty() ? "" : gpu::support::why_not_written(path);
  if (why.empty()) return true;
  lab::base::log().error("{}: cannot write {}: {}", option, path, why);
  return false;
}

void write_text(const std::string& path, const std::string& text) {
  if (!path.empty()) gpu::support::write_whole(path, text);
}

}  // namespace anymps::cli::options
