// The sanitiser's reports of launches that nobody collects.
#pragma once

#include <vector>

#include "metal/pipeline/validation.h"

namespace anymps::metal::runtime {

// Whether ANYMPS_VALIDATE asks that every launch be validated; whether it says "strict".
bool validation_wanted();
bool validation_strict();

// Prints those that are new to this process, and keeps them all.
void publish(std::vector<pipeline::ValidationReport> reports);
// What was published since the last call; the same place of a kernel once.
std::vector<pipeline::ValidationReport> take_published();

}  // namespace anymps::metal::runtime
