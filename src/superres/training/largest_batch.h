// How large a batch may be, found by trying.
#pragma once

#include <optional>

#include "superres/training/training.h"

namespace anymps::superres::training {

// The largest batch below that of `options` with which a step can be taken; nothing where not even 1 can. Touches no
// file.
std::optional<int> largest_batch(const TrainingOptions& options, const DevicePolicy& policy);

}  // namespace anymps::superres::training
