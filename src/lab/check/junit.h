// The report of `anymps check` as JUnit's XML: a test case for each rule that was looked for.
#pragma once

#include <string>

#include "lab/check/report.h"

namespace anymps::lab::check {

std::string check_junit(const CheckReport& report);

}  // namespace anymps::lab::check
