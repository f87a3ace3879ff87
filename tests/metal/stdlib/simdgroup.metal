// Functions of a simdgroup and of a quad, for every type that they take.
#include "check.h"

template <typename V, typename Of>
void check_shuffles(thread Tally& report, uint lane, Of of) {
  EXPECT(simd_broadcast(of(lane), ushort(5)), of(5));
  EXPECT(simd_broadcast_first(of(lane)), of(0));
  EXPECT(simd_shuffle(of(lane), ushort(31 - lane)), of(31 - lane));
  EXPECT(simd_shuffle_xor(of(lane), ushort(9)), of(lane ^ 9));
  EXPECT(simd_shuffle_rotate_down(of(lane), ushort(3)), of((lane + 3) % 32));
  EXPECT(simd_shuffle_rotate_up(of(lane), ushort(3)), of((lane + 29) % 32));
  const V down = simd_shuffle_down(of(lane), ushort(3));
  const V up = simd_shuffle_up(of(lane), ushort(3));
  CHECK(lane >= 29 || same(down, of(lane + 3)));
  CHECK(lane < 3 || same(up, of(lane - 3)));
  EXPECT(simd_shuffle_and_fill_down(of(lane), of(40), ushort(3)), lane < 29 ? of(lane + 3) : of(40));
  EXPECT(simd_shuffle_and_fill_up(of(lane), of(40), ushort(3)), lane >= 3 ? of(lane - 3) : of(40));
  EXPECT(simd_shuffle_and_fill_down(of(lane), of(40), ushort(1), ushort(8)), lane % 8 < 7 ? of(lane + 1) : of(40));
  EXPECT(simd_shuffle_and_fill_up(of(lane), of(40), ushort(1), ushort(8)), lane % 8 > 0 ? of(lane - 1) : of(40));
  const uint quad = lane & ~3u;
  EXPECT(quad_broadcast(of(lane), ushort(2)), of(quad + 2));
  EXPECT(quad_broadcast_first(of(lane)), of(quad));
  EXPECT(quad_shuffle(of(lane), ushort(3 - lane % 4)), of(quad + 3 - lane % 4));
  EXPECT(quad_shuffle_xor(of(lane), ushort(1)), of(lane ^ 1));
  EXPECT(quad_shuffle_rotate_down(of(lane), ushort(1)), of(quad + (lane + 1) % 4));
  EXPECT(quad_shuffle_rotate_up(of(lane), ushort(1)), of(quad + (lane + 3) % 4));
  const V quad_down = quad_shuffle_down(of(lane), ushort(1));
  const V quad_up = quad_shuffle_up(of(lane), ushort(1));
  CHECK(lane % 4 == 3 || same(quad_down, of(lane + 1)));
  CHECK(lane % 4 == 0 || same(quad_up, of(lane - 1)));
  EXPECT(quad_shuffle_and_fill_down(of(lane), of(40), ushort(1)), lane % 4 < 3 ? of(lane + 1) : of(40));
  EXPECT(quad_shuffle_and_fill_up(of(lane), of(40), ushort(1)), lane % 4 > 0 ? of(lane - 1) : of(40));
}

template <typename T>
void check_vectors(thread Tally& report, uint lane) {
  check_shuffles<T>(report, lane, [](uint n) { return T(n + 1); });
  // Vectors go by their size: of each size one type has all.
  if (is_same_v<T, uchar> || is_same_v<T, half> || is_same_v<T, float>) {
    check_shuffles<vec<T, 2>>(report, lane, [](uint n) { return vec<T, 2>(T(n), T(n + 2)); });
    check_shuffles<vec<T, 3>>(report, lane, [](uint n) { return vec<T, 3>(T(n), T(n + 2), T(7)); });
  }
  check_shuffles<vec<T, 4>>(report, lane, [](uint n) { return vec<T, 4>(T(n), T(n + 2), T(7), T(n + 4)); });
}

#define SHUFFLES(T)                                                                                            \
  kernel void shuffles_of_##T(device Report* out [[buffer(0)]], uint lane [[thread_index_in_simdgroup]]) {     \
    Tally report;                                                                                              \
    check_vectors<T>(report, lane);                                                                            \
    report.tell(out);                                                                                          \
  }
SHUFFLES(char)
SHUFFLES(uchar)
SHUFFLES(short)
SHUFFLES(ushort)
SHUFFLES(int)
SHUFFLES(uint)
SHUFFLES(half)
SHUFFLES(float)
SHUFFLES(bfloat)

kernel void shuffles_of_bool(device Report* out [[buffer(0)]], uint lane [[thread_index_in_simdgroup]]) {
  Tally report;
  check_shuffles<bool>(report, lane, [](uint n) { return n % 3 == 0; });
  report.tell(out);
}

template <typename T>
void check_reductions(thread Tally& report, uint lane) {
  typedef vec<T, 2> V;
  const uint quad = lane & ~3u;
  EXPECT(simd_sum(T(lane % 4)), T(48));
  EXPECT(simd_product(T(lane % 16 == 0 ? 3 : 1)), T(9));
  EXPECT(simd_min(T(lane + 2)), T(2));
  EXPECT(simd_max(T(lane + 2)), T(33));
  EXPECT(simd_prefix_inclusive_sum(T(1)), T(lane + 1));
  EXPECT(simd_prefix_exclusive_sum(T(1)), T(lane));
  EXPECT(simd_prefix_inclusive_product(T(lane % 16 == 0 ? 3 : 1)), T(lane < 16 ? 3 : 9));
  EXPECT(simd_prefix_exclusive_product(T(lane % 16 == 0 ? 3 : 1)), T(lane == 0 ? 1 : lane <= 16 ? 3 : 9));
  EXPECT(simd_sum(V(T(1), T(lane % 2))), V(T(32), T(16)));
  EXPECT(simd_max(V(T(lane), T(1))), V(T(31), T(1)));
  EXPECT(simd_prefix_exclusive_sum(V(T(1), T(0))), V(T(lane), T(0)));
  EXPECT(quad_sum(T(lane % 4)), T(6));
  EXPECT(quad_product(T(lane % 4 + 1)), T(24));
  EXPECT(quad_min(T(lane)), T(quad));
  EXPECT(quad_max(T(lane)), T(quad + 3));
  EXPECT(quad_prefix_inclusive_sum(T(1)), T(lane % 4 + 1));
  EXPECT(quad_prefix_exclusive_sum(T(1)), T(lane % 4));
  EXPECT(quad_prefix_inclusive_product(T(2)), T(2 << lane % 4));
  EXPECT(quad_prefix_exclusive_product(T(2)), T(1 << lane % 4));
}

template <typename T>
void check_bits(thread Tally& report, uint lane) {
  EXPECT(simd_and(T(lane | 64)), T(64));
  EXPECT(simd_or(T(lane)), T(31));
  EXPECT(simd_xor(T(lane == 3 ? 9 : 0)), T(9));
  EXPECT(quad_and(T(lane % 4 | 8)), T(8));
  EXPECT(quad_or(T(lane % 4)), T(3));
  EXPECT(quad_xor(T(lane % 4)), T(0));
  EXPECT(simd_or(vec<T, 2>(T(lane), T(2))), (vec<T, 2>(T(31), T(2))));
}

#define REDUCTIONS(T, bits)                                                                                    \
  kernel void reductions_of_##T(device Report* out [[buffer(0)]], uint lane [[thread_index_in_simdgroup]]) {   \
    Tally report;                                                                                              \
    check_reductions<T>(report, lane);                                                                         \
    bits;                                                                                                      \
    report.tell(out);                                                                                          \
  }
REDUCTIONS(char, check_bits<char>(report, lane))
REDUCTIONS(uchar, check_bits<uchar>(report, lane))
REDUCTIONS(short, check_bits<short>(report, lane))
REDUCTIONS(ushort, check_bits<ushort>(report, lane))
REDUCTIONS(int, check_bits<int>(report, lane))
REDUCTIONS(uint, check_bits<uint>(report, lane))
REDUCTIONS(half, )
REDUCTIONS(float, )

kernel void votes(device Report* out [[buffer(0)]], uint lane [[thread_index_in_simdgroup]]) {
  Tally report;
  EXPECT(simd_all(lane < 32), true);
  EXPECT(simd_all(lane < 31), false);
  EXPECT(simd_any(lane == 31), true);
  EXPECT(simd_any(lane == 32), false);
  EXPECT(static_cast<ulong>(simd_ballot(lane % 8 == 0)), 0x01010101ul);
  EXPECT(simd_ballot(true).all(), true);
  EXPECT(simd_ballot(lane == 3).all(), false);
  EXPECT(simd_ballot(lane == 3).any(), true);
  EXPECT(static_cast<ulong>(simd_active_threads_mask()), 0xfffffffful);
  EXPECT(simd_is_first(), lane == 0);
  EXPECT(simd_is_helper_thread(), false);
  EXPECT(quad_all(lane % 4 < 4), true);
  EXPECT(quad_any(lane == 5), lane / 4 == 1);
  EXPECT(static_cast<ulong>(quad_ballot(lane % 4 == 2)), 4ul);
  EXPECT(quad_ballot(true).all(), true);
  EXPECT(static_cast<ulong>(quad_active_threads_mask()), 15ul);
  EXPECT(quad_is_first(), lane % 4 == 0);
  if (lane >= 8) {
    EXPECT(simd_is_first(), lane == 8);
    EXPECT(simd_broadcast_first(lane), 8u);
    EXPECT(static_cast<ulong>(simd_active_threads_mask()), 0xffffff00ul);
    EXPECT(simd_sum(1), 24);
  }
  report.tell(out);
}

kernel void barriers(device Report* out [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {
  Tally report;
  threadgroup uint shared[64];
  shared[i] = i;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  EXPECT(shared[63 - i], 63 - i);
  threadgroup_barrier(mem_flags::mem_none);
  shared[i] = i * 2;
  simdgroup_barrier(mem_flags::mem_threadgroup);
  EXPECT(shared[i ^ 1], (i ^ 1) * 2);
  threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device, thread_scope_device);
  report.tell(out);
}
