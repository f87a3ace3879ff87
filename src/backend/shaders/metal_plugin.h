// libanymps_metal.so, opened when the first shader is.
#pragma once

#include "metal/plugin.h"

namespace anymps::backend::shaders {

// Throws c10::Error where the library is not there or is another build's.
metal::Plugin& metal_plugin();

// Whether launches from here on are validated, whatever ANYMPS_VALIDATE says.
void validate_launches(bool wanted);
bool launches_are_validated();
// As that, or because ANYMPS_VALIDATE says so.
bool validation_is_on();

}  // namespace anymps::backend::shaders
