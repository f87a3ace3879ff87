// Linux behind lab/host/platform.h.
#pragma once

#include <filesystem>
#include <memory>

#include "lab/host/platform.h"

namespace anymps::lab::host {

// From the files under `root`, as the system has them under "/". Another root is for tests.
std::unique_ptr<Platform> linux_platform(const std::filesystem::path& root);

}  // namespace anymps::lab::host
