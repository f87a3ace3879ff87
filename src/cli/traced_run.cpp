#include "cli/traced_run.h"

#include <fstream>

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
  if (path.empty() || std::ofstream(path, std::ios::app)) return true;
  lab::log().error("{}: cannot write {}", option, path);
  return false;
}

void write_text(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  std::ofstream file(path, std::ios::trunc);
  file << text;
  if (!file.flush()) lab::log().error("cannot write {}: is the disk full?", path);
}

}  // namespace anymps::cli
