// Traces and recordings count nanoseconds; screens and documents give seconds.
#pragma once

namespace anymps::lab::base {

inline constexpr double kNanosecond = 1e-9;  // in seconds

}  // namespace anymps::lab::base
