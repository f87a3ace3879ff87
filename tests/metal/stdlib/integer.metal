// Integer functions.
#include "check.h"

template <typename T>
void check(thread Tally& report) {
  typedef make_unsigned_t<T> U;
  typedef vec<T, 2> V2;
  typedef vec<T, 4> V4;
  constexpr T least = numeric_limits<T>::min();
  constexpr T most = numeric_limits<T>::max();
  constexpr T bits = 8 * sizeof(T);
  EXPECT(abs(unknown(T(5))), T(5));
  EXPECT(absdiff(unknown(T(3)), T(10)), U(7));
  EXPECT(absdiff(unknown(least), most), numeric_limits<U>::max());
  EXPECT(addsat(unknown(most), T(1)), most);
  EXPECT(addsat(unknown(T(3)), T(4)), T(7));
  EXPECT(subsat(unknown(least), T(1)), least);
  EXPECT(clamp(unknown(T(9)), T(1), T(5)), T(5));
  EXPECT(clz(unknown(T(1))), T(bits - 1));
  EXPECT(clz(unknown(T(0))), bits);
  EXPECT(ctz(unknown(T(8))), T(3));
  EXPECT(ctz(unknown(T(0))), bits);
  EXPECT(extract_bits(unknown(T(0x5c)), 2, 4), T(is_signed_v<T> ? 7 : 7));
  EXPECT(extract_bits(unknown(T(0x3c)), 2, 4), T(is_signed_v<T> ? -1 : 15));
  EXPECT(extract_bits(unknown(T(0x3c)), 2, 0), T(0));
  EXPECT(insert_bits(unknown(T(0x41)), T(3), 1, 3), T(0x47));
  EXPECT(hadd(unknown(most), T(most - 1)), T(most - 1));
  EXPECT(rhadd(unknown(most), T(most - 1)), most);
  EXPECT(madhi(unknown(most), T(2), T(4)), T(is_signed_v<T> ? 4 : 5));
  EXPECT(mulhi(unknown(most), T(4)), T(is_signed_v<T> ? 1 : 3));
  EXPECT(madsat(unknown(T(3)), T(4), T(5)), T(17));
  EXPECT(madsat(unknown(most), most, T(5)), most);
  EXPECT(max(unknown(T(3)), T(4)), T(4));
  EXPECT(min(unknown(T(3)), T(4)), T(3));
  EXPECT(max3(unknown(T(3)), T(4), T(1)), T(4));
  EXPECT(min3(unknown(T(3)), T(4), T(1)), T(1));
  EXPECT(median3(unknown(T(3)), T(4), T(1)), T(3));
  EXPECT(popcount(unknown(T(0x57))), T(5));
  EXPECT(reverse_bits(unknown(T(1))), T(U(1) << (bits - 1)));
  EXPECT(rotate(unknown(T(0x41)), T(bits - 1)), T((U(1) << (bits - 1)) | 0x20));
  // As vectors, and with one scalar for all.
  EXPECT(max(unknown(V2(T(3), T(5))), V2(T(4))), V2(T(4), T(5)));
  EXPECT(min(unknown(V4(T(3))), T(2)), V4(T(2)));
  EXPECT(max(T(2), unknown(V4(T(3)))), V4(T(3)));
  EXPECT(clamp(unknown(V2(T(1), T(9))), T(2), T(5)), V2(T(2), T(5)));
  EXPECT(popcount(unknown(V4(T(1), T(3), T(7), T(0)))), V4(T(1), T(2), T(3), T(0)));
  EXPECT(absdiff(unknown(V2(T(3), T(9))), V2(T(5))), (vec<U, 2>(U(2), U(4))));
  EXPECT(addsat(unknown(V2(most)), V2(T(1))), V2(most));
  EXPECT(clz(unknown(V2(T(1), T(2)))), V2(T(bits - 1), T(bits - 2)));
  EXPECT(mulhi(unknown(V2(most)), V2(T(4))), V2(T(is_signed_v<T> ? 1 : 3)));
  EXPECT(extract_bits(unknown(V2(T(0x14))), 2, 2), V2(T(1)));
  EXPECT(insert_bits(unknown(V2(T(0))), V2(T(3)), 1, 2), V2(T(6)));
  EXPECT(rotate(unknown(V2(T(1))), V2(T(1), T(2))), V2(T(2), T(4)));
  EXPECT(median3(unknown(V2(T(3))), V2(T(1)), V2(T(2))), V2(T(2)));
}

kernel void integers(device Report* out [[buffer(0)]]) {
  Tally report;
  check<char>(report);
  check<uchar>(report);
  check<short>(report);
  check<ushort>(report);
  check<int>(report);
  check<uint>(report);
  check<long>(report);
  check<ulong>(report);
  EXPECT(abs(unknown(-5)), 5);
  EXPECT(abs(unknown(short3(-1, 2, -3))), short3(1, 2, 3));
  EXPECT(madsat(unknown(-100000), 100000, 1), -2147483647 - 1);
  EXPECT(madsat(unknown(-3000000000l), 4000000000l, 5l), numeric_limits<long>::min());
  EXPECT(madsat(unknown(-3l), 4l, 5l), -7l);
  EXPECT(mad24(unknown(-3), 4, 5), -7);
  EXPECT(mad24(unknown(0x1000003u), 4u, 5u), 17u);
  EXPECT(mul24(unknown(-3), 4), -12);
  EXPECT(mul24(unknown(uint2(3, 4)), uint2(5)), uint2(15, 20));
  EXPECT(max(unknown(true), false), 1);
  report.tell(out);
}
