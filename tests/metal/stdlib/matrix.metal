// Matrices. The first index is the column.
#include "check.h"

template <typename T, int C, int R>
bool same(matrix<T, C, R> a, matrix<T, C, R> b) {
  return a == b;
}

template <typename T>
void check(thread Tally& report) {
  typedef matrix<T, 2, 2> M2;
  typedef matrix<T, 3, 3> M3;
  typedef matrix<T, 4, 4> M4;
  typedef matrix<T, 2, 3> M23;
  typedef matrix<T, 3, 2> M32;
  typedef vec<T, 2> V2;
  typedef vec<T, 3> V3;
  typedef vec<T, 4> V4;
  static_assert(sizeof(M23) == 2 * sizeof(V3) && sizeof(M32) == 3 * sizeof(V2), "");
  const M2 m(unknown(T(1)), T(2), T(3), T(4));
  EXPECT(m, M2(V2(T(1), T(2)), V2(T(3), T(4))));
  EXPECT(m[1][0], T(3));
  EXPECT(m[0], V2(T(1), T(2)));
  EXPECT(m + m, m * T(2));
  EXPECT(m - m, M2(T(0)));
  EXPECT(T(2) * m, M2(T(2), T(4), T(6), T(8)));
  EXPECT(-m, M2(T(-1), T(-2), T(-3), T(-4)));
  EXPECT(m * m, M2(T(7), T(10), T(15), T(22)));
  EXPECT(m * V2(T(1), T(10)), V2(T(31), T(42)));
  EXPECT(V2(T(1), T(10)) * m, V2(T(21), T(43)));
  EXPECT(transpose(m), M2(T(1), T(3), T(2), T(4)));
  EXPECT(determinant(m), T(-2));
  const M23 a(V3(T(1), T(2), T(3)), V3(T(4), T(5), T(6)));
  EXPECT(transpose(a), M32(V2(T(1), T(4)), V2(T(2), T(5)), V2(T(3), T(6))));
  EXPECT(a * transpose(a), M3(T(17), T(22), T(27), T(22), T(29), T(36), T(27), T(36), T(45)));
  EXPECT(transpose(a) * a, M2(T(14), T(32), T(32), T(77)));
  EXPECT(determinant(M3(T(2), T(0), T(1), T(1), T(3), T(2), T(1), T(1), T(4))), T(18));
  EXPECT(determinant(M4(V4(T(1), T(0), T(2), T(0)), V4(T(0), T(3), T(0), T(1)), V4(T(0), T(1), T(1), T(0)),
                        V4(T(2), T(0), T(0), T(1)))),
         T(-1));
  M4 n(T(1));
  n[2][3] = T(5);
  n *= T(2);
  n += M4(T(1));
  EXPECT(n[2], V4(T(0), T(0), T(3), T(10)));
}

kernel void matrices(device Report* out [[buffer(0)]]) {
  Tally report;
  check<float>(report);
  check<half>(report);
  EXPECT(half2x2(float2x2(1, 2, 3, 4)), half2x2(1, 2, 3, 4));
  EXPECT(float3x4(2)[1], float4(0, 2, 0, 0));
  report.tell(out);
}
