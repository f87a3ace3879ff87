// The report of `anymps check` for programs; docs/check.md says what its members mean.
#pragma once

#include <string>

#include "lab/check_report.h"

namespace anymps::lab {

std::string check_json(const CheckReport& report);

}  // namespace anymps::lab
