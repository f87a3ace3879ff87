// The report of `anymps check` as one HTML page that needs nothing else: figures, each place with its lines of source,
// a filter.
#pragma once

#include <string>

#include "lab/check/report.h"

namespace anymps::lab::check {

std::string check_html(const CheckReport& report);

}  // namespace anymps::lab::check
