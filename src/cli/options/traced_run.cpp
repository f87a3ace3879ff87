#include "cli/traced_run.h"

#include "gpu/whole_file.h"
#include "lab/child.h"
#include "lab/log.h"

namespace anymps::cli {

void trace_into(lab::ChildCommand& command, const std::string& folder) {
  command.environment["ANYMPS_RUN"] = folder;
  command.environment["ANYMPS_REQUIRED"] = "1";
}

void say_not_started(const lab::ChildCommand& command, const lab::ChildResult& result) {
  lab::log().error("cannot start {}: {}", command.words.front(), result.start_error);
}

bool can_write(const char* option, const std::string& path) {
  const std::string why = path.empty() ? "" : gpu::why_not_written(path);
  if (why.empty()) return true;
  lab::log().error("{}: cannot write {}: {}", option, path, why);
  return false;
}

void write_text(const std::string& path, const std::string& text) {
  if (!path.empty()) gpu::write_whole(path, text);
}

}  // namespace anymps::cli
