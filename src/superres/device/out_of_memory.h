// Whether an error says that memory is full.
#pragma once

#include <exception>

namespace anymps::superres::device {

bool is_out_of_memory(const std::exception& error);

}  // namespace anymps::superres::device
