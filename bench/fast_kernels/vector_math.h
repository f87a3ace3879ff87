// Exponential and logarithm that a compiler can put into a vector loop, which a call of the C library cannot be
// everywhere. Accurate to a few units in the last place for what the benchmarks feed them.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

// e^x = 2^n e^r with |r| <= ln(2) / 2; the polynomial is a Chebyshev fit of (e^r - 1 - r) / r^2.
inline float fast_exp(float x) {
  x = x < -87.0f ? -87.0f : x > 88.0f ? 88.0f : x;
  const float n = __builtin_rintf(x * 1.44269504f);
  const float r = x - n * 0.693359375f + n * 2.12194440e-4f;
  const float p = 0.5f + r * (0.166665769f + r * (0.0416664647f + r * (0.00836319282f + r * 0.00139336694f)));
  return (1.0f + (r + r * r * p)) * std::bit_cast<float>((static_cast<std::int32_t>(n) + 127) << 23);
}

// ln(x) = n ln(2) + ln(1 + f) with 1 + f from sqrt(1/2) to sqrt(2); a fit of (ln(1 + f) - f + f^2 / 2) / f^3.
// x is positive, finite and no denormal.
inline float fast_log(float x) {
  constexpr std::int32_t kRootOfHalf = 0x3f3504f3;
  const std::int32_t bits = std::bit_cast<std::int32_t>(x), n = (bits - kRootOfHalf) >> 23;
  const float f = std::bit_cast<float>(bits - (n << 23)) - 1.0f;
  const float q = 0.142021738f + f * (-0.12972239f + f * (0.127123077f + f * -0.0810155847f));
  const float p = 0.333333286f + f * (-0.250002965f + f * (0.200014686f + f * (-0.166422476f + f * q)));
  return static_cast<float>(n) * 0.693147181f + (f - 0.5f * f * f + f * f * f * p);
}
