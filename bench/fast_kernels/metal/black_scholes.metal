#include <metal_stdlib>
using namespace metal;

// The normal distribution: Abramowitz and Stegun, 26.2.17.
static float normal(float d) {
  const float k = 1 / (1 + 0.2316419f * abs(d));
  const float series = 0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)));
  const float tail = 0.39894228f * exp(-0.5f * d * d) * k * series;
  return d > 0 ? 1 - tail : tail;
}

kernel void black_scholes(device const float* price, device const float* strike, device const float* years,
                          device float* call, device float* put, constant float& rate, constant float& volatility,
                          uint i [[thread_position_in_grid]]) {
  const float s = price[i], x = strike[i], t = years[i], root = sqrt(t);
  const float d1 = (log(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
  const float n1 = normal(d1), n2 = normal(d1 - volatility * root), discounted = x * exp(-rate * t);
  call[i] = s * n1 - discounted * n2;
  put[i] = discounted * (1 - n2) - s * (1 - n1);
}
