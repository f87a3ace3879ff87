// Which code is running.
#pragma once

#include <string>

namespace anymps::gpu::support {

// The version of anymps with the build id of the library or program that `address` lies in: part of the key of
// everything that is cached, so that a change of the code that makes something never meets what the code before it
// made. Where the linker wrote no build id, path, size and time of the file stand for it. Walks the loaded libraries:
// keep the answer.
std::string version_of_code(const void* address);

}  // namespace anymps::gpu::support
