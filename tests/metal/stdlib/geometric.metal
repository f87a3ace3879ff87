// Geometric functions.
#include "check.h"

template <typename T>
void check(thread Tally& report) {
  typedef vec<T, 2> V2;
  typedef vec<T, 3> V3;
  typedef vec<T, 4> V4;
  const V2 two = unknown(V2(T(3), T(4)));
  const V3 three = unknown(V3(T(1), T(2), T(2)));
  const V4 four = unknown(V4(T(1), T(2), T(3), T(4)));
  EXPECT(dot(two, two), T(25));
  EXPECT(dot(three, V3(T(1))), T(5));
  EXPECT(dot(four, four), T(30));
  EXPECT(length(two), T(5));
  EXPECT(length(three), T(3));
  EXPECT(length_squared(four), T(30));
  EXPECT(distance(two, V2(T(0))), T(5));
  EXPECT(distance_squared(three, V3(T(1))), T(2));
  EXPECT_NEAR(normalize(two), V2(T(0.6f), T(0.8f)), 4);
  EXPECT(cross(V3(T(1), T(0), T(0)), unknown(V3(T(0), T(1), T(0)))), V3(T(0), T(0), T(1)));
  EXPECT(cross(three, V3(T(2), T(1), T(0))), V3(T(-2), T(4), T(-3)));
  EXPECT(faceforward(two, V2(T(1)), V2(T(1))), -two);
  EXPECT(faceforward(two, V2(T(-1)), V2(T(1))), two);
  EXPECT(reflect(V2(T(1), T(-1)), V2(T(0), T(1))), V2(T(1), T(1)));
  EXPECT(refract(V2(T(0), T(-1)), V2(T(0), T(1)), T(0.5f)), V2(T(0), T(-1)));
  EXPECT(refract(V2(T(1), T(0)), V2(T(0), T(1)), T(2)), V2(T(0)));
}

kernel void geometric(device Report* out [[buffer(0)]]) {
  Tally report;
  check<float>(report);
  check<half>(report);
  EXPECT(precise::length(unknown(float2(3, 4))), 5.0f);
  EXPECT(fast::distance(unknown(float2(3, 4)), float2(0)), 5.0f);
  EXPECT_NEAR(fast::normalize(unknown(float2(3, 4))), float2(0.6, 0.8), 4);
  report.tell(out);
}
