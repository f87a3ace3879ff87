// Relational functions. They hold for NaNs and infinities in fast math too.
#include "check.h"

template <typename T>
void check(thread Tally& report) {
  typedef vec<T, 2> V2;
  typedef vec<T, 3> V3;
  const T nan = unknown(numeric_limits<T>::quiet_NaN());
  const T infinity = unknown(numeric_limits<T>::infinity());
  const T one = unknown(T(1));
  const T tiny = unknown(numeric_limits<T>::denorm_min());
  EXPECT(isnan(nan), true);
  EXPECT(isnan(infinity), false);
  EXPECT(isnan(one), false);
  EXPECT(isinf(infinity), true);
  EXPECT(isinf(-infinity), true);
  EXPECT(isinf(nan), false);
  EXPECT(isfinite(one), true);
  EXPECT(isfinite(infinity), false);
  EXPECT(isfinite(nan), false);
  EXPECT(isnormal(one), true);
  EXPECT(isnormal(T(0)), false);
  EXPECT(isnormal(tiny), false);
  EXPECT(isnormal(infinity), false);
  EXPECT(isordered(one, one), true);
  EXPECT(isordered(one, nan), false);
  EXPECT(isunordered(nan, one), true);
  EXPECT(isunordered(one, infinity), false);
  EXPECT(signbit(-one), true);
  EXPECT(signbit(one), false);
  EXPECT(isnan(V2(nan, one)), bool2(true, false));
  EXPECT(isinf(V3(nan, infinity, one)), bool3(false, true, false));
  EXPECT(isfinite(V3(nan, infinity, one)), bool3(false, false, true));
  EXPECT(isnormal(V2(tiny, one)), bool2(false, true));
  EXPECT(isunordered(V2(nan, one), V2(one, one)), bool2(true, false));
  EXPECT(isordered(V2(nan, one), V2(one, one)), bool2(false, true));
  EXPECT(signbit(V2(-one, one)), bool2(true, false));
}

template <typename T>
void check_select(thread Tally& report) {
  typedef vec<T, 3> V;
  EXPECT(select(T(1), T(2), unknown(true)), T(2));
  EXPECT(select(T(1), T(2), unknown(false)), T(1));
  EXPECT(select(V(T(1)), V(T(2)), unknown(bool3(true, false, true))), V(T(2), T(1), T(2)));
  EXPECT(select(0, V(T(1)), unknown(bool3(true, false, true))), V(T(1), T(0), T(1)));
  EXPECT(select(V(T(1)), T(0), unknown(bool3(true, false, true))), V(T(0), T(1), T(0)));
}

kernel void relational(device Report* out [[buffer(0)]]) {
  Tally report;
  check<float>(report);
  check<half>(report);
  EXPECT(isnan(unknown(numeric_limits<bfloat>::quiet_NaN())), true);
  check_select<bool>(report);
  check_select<char>(report);
  check_select<uchar>(report);
  check_select<short>(report);
  check_select<ushort>(report);
  check_select<int>(report);
  check_select<uint>(report);
  check_select<long>(report);
  check_select<ulong>(report);
  check_select<half>(report);
  check_select<bfloat>(report);
  check_select<float>(report);
  EXPECT(all(unknown(bool2(true, true))), true);
  EXPECT(all(unknown(bool3(true, false, true))), false);
  EXPECT(all(unknown(bool4(true))), true);
  EXPECT(any(unknown(bool2(false, false))), false);
  EXPECT(any(unknown(bool3(false, false, true))), true);
  EXPECT(any(unknown(bool4(false))), false);
  report.tell(out);
}
