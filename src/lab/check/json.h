// The report of `anymps check` for programs; docs/check.md says what its members mean.
#pragma once

#include <string>

#include "lab/check/report.h"

namespace anymps::lab::check {

std::string check_json(const CheckReport& report);

}  // namespace anymps::lab::check
