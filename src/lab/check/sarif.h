// The report of `anymps check` as SARIF 2.1.0, the static analysis results interchange format that code hosts read.
#pragma once

#include <string>

#include "lab/check/report.h"

namespace anymps::lab::check {

std::string check_sarif(const CheckReport& report);

}  // namespace anymps::lab::check
