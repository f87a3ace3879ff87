// Which operators may wait in the device's queue: those that look at the values of their tensors to refuse some at the
// call, or to know the shape of a result, must not, nor those that draw random numbers.
#pragma once

#include <cstdint>
#include <string_view>

namespace anymps::backend::dispatch {

enum class Queueing : std::uint8_t { kNever, kOnFractions, kAlways };

// By the operator's name without namespace and overload.
Queueing queueing_of(std::string_view name);

// Whether one of them may find an error in the values of its tensors, which a Mac reports later or not at all. The line
// that called it is kept for that.
bool may_fail_late(std::string_view name);

}  // namespace anymps::backend::dispatch
