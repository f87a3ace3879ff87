#include "lab/base/log_line.h"

#include "lab/base/log.h"

namespace anymps::lab::base {

void say_info(std::string_view line) { log().info(line); }
void say_warning(std::string_view line) { log().warn(line); }
void say_error(std::string_view line) { log().error(line); }

}  // namespace anymps::lab::base
