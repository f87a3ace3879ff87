// The logger's lines for rooms that cannot include it: PyTorch brings a copy of fmt that is not the logger's.
#pragma once

#include <string_view>

namespace anymps::lab::base {

void say_info(std::string_view line);
void say_warning(std::string_view line);
void say_error(std::string_view line);

}  // namespace anymps::lab::base
