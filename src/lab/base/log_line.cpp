#include "lab/said.h"

#include "lab/log.h"

namespace anymps::lab {

void say_info(std::string_view line) { log().info(line); }
void say_warning(std::string_view line) { log().warn(line); }
void say_error(std::string_view line) { log().error(line); }

}  // namespace anymps::lab
