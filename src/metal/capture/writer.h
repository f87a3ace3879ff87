#pragma once

#include <memory>
#include <string>

#include "metal/capture/capture.h"

namespace anymps::metal::capture {

// Makes the folder, which must not be there. Throws std::exception with why it cannot be.
std::unique_ptr<Capture> write_capture(const std::string& folder, const CaptureFacts& facts);

}  // namespace anymps::metal::capture
