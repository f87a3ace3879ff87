// The engines by their names.
#pragma once

#include <string>
#include <string_view>

#include "metal/pipeline.h"

namespace anymps::metal {

// The name of what chosen_engine() takes where there is no sandbox: a value of ANYMPS_METAL_ENGINE, nothing for the
// usual one, or "validated". Throws as chosen_engine() does.
std::string chosen_engine_name(const std::string& kernel);

// Null where there is none of this name.
Engine engine_named(std::string_view name);

}  // namespace anymps::metal
