// The answers of a SizeReport as one HTML file that needs nothing else: a picture of the peak against each Mac's
// memory.
#pragma once

#include <string>

#include "lab/size/report.h"

namespace anymps::lab::size {

std::string size_html(const SizeReport& report);

}  // namespace anymps::lab::size
