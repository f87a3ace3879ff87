// Common functions.
#include "check.h"

template <typename T>
void check(thread Tally& report) {
  typedef vec<T, 2> V2;
  typedef vec<T, 3> V3;
  typedef vec<T, 4> V4;
  EXPECT(clamp(unknown(T(5)), T(1), T(3)), T(3));
  EXPECT(clamp(unknown(V2(T(0), T(2))), V2(T(1)), V2(T(3))), V2(T(1), T(2)));
  EXPECT(clamp(unknown(V3(T(0), T(2), T(9))), T(1), T(3)), V3(T(1), T(2), T(3)));
  EXPECT(saturate(unknown(T(1.5f))), T(1));
  EXPECT(saturate(unknown(V4(T(-1), T(0.5f), T(0), T(2)))), V4(T(0), T(0.5f), T(0), T(1)));
  EXPECT(mix(unknown(T(2)), T(6), T(0.25f)), T(3));
  EXPECT(mix(unknown(V2(T(2))), V2(T(6)), V2(T(0.25f), T(0.5f))), V2(T(3), T(4)));
  EXPECT(mix(unknown(V3(T(2))), V3(T(6)), T(0.5f)), V3(T(4)));
  EXPECT(sign(unknown(T(-3))), T(-1));
  EXPECT(sign(unknown(V3(T(4), T(0), T(-4)))), V3(T(1), T(0), T(-1)));
  EXPECT(step(unknown(T(1)), T(2)), T(1));
  EXPECT(step(unknown(V2(T(1), T(3))), V2(T(2))), V2(T(1), T(0)));
  EXPECT(step(T(2), unknown(V2(T(1), T(3)))), V2(T(0), T(1)));
  EXPECT(smoothstep(T(0), T(4), unknown(T(1))), T(0.15625f));
  EXPECT(smoothstep(V2(T(0)), V2(T(4)), unknown(V2(T(2), T(5)))), V2(T(0.5f), T(1)));
  EXPECT(smoothstep(T(0), T(4), unknown(V4(T(2)))), V4(T(0.5f)));
}

kernel void common(device Report* out [[buffer(0)]]) {
  Tally report;
  check<float>(report);
  check<half>(report);
  EXPECT(precise::clamp(unknown(2.0f), 0.0f, 1.0f), 1.0f);
  EXPECT(fast::clamp(unknown(2.0f), 0.0f, 1.0f), 1.0f);
  EXPECT(precise::saturate(unknown(float2(2))), float2(1));
  EXPECT(fast::saturate(unknown(-2.0f)), 0.0f);
  EXPECT(clamp(unknown(bfloat(3.0f)), bfloat(0.0f), bfloat(2.0f)), 2.0f);
  report.tell(out);
}
