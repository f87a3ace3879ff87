// The one logger of the tools: lines on standard error that begin with "anymps:", so that standard output stays the
// child's.
#pragma once

#include <spdlog/logger.h>

namespace anymps::lab::base {

spdlog::logger& log();

}  // namespace anymps::lab::base
