// Matrices of a simdgroup.
#include "check.h"

// Of lane `lane`'s first element; the second is in the next column.
inline uint row_of(uint lane) { return (lane >> 2 & 4) | (lane >> 1 & 3); }
inline uint column_of(uint lane) { return (lane >> 2 & 2) << 1 | (lane & 1) << 1; }

template <typename T>
void check(thread Tally& report, threadgroup T* memory, uint lane, uint group) {
  typedef simdgroup_matrix<T, 8, 8> Matrix;
  threadgroup T* const own = memory + 192 * group;
  for (uint i = lane; i < 64; i += 32) own[i] = T(i);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const uint row = row_of(lane);
  const uint column = column_of(lane);
  Matrix a;
  simdgroup_load(a, own, 8);
  EXPECT(T(a.thread_elements()[0]), T(8 * row + column));
  EXPECT(T(a.thread_elements().y), T(8 * row + column + 1));
  Matrix b;
  simdgroup_load(b, own, 8, ulong2(0), true);
  EXPECT(T(b.thread_elements()[0]), T(8 * column + row));
  EXPECT(T(b.thread_elements()[1]), T(8 * (column + 1) + row));
  Matrix two = make_filled_simdgroup_matrix<T, 8, 8>(T(2));
  EXPECT(T(two.thread_elements()[1]), T(2));
  const Matrix unit(T(1));
  EXPECT(T(unit.thread_elements()[0]), T(row == column ? 1 : 0));
  // Each element of the product is twice a row's sum.
  Matrix product;
  simdgroup_multiply(product, two, unit);
  EXPECT(T(product.thread_elements()[0]), T(2));
  Matrix sum;
  simdgroup_multiply_accumulate(sum, a, unit, two);
  EXPECT(T(sum.thread_elements()[1]), T(8 * row + column + 3));
  EXPECT(T((unit * a).thread_elements()[0]), T(8 * row + column));
  // A lane's own elements can be set, and a matrix stored at an offset with longer rows.
  two.thread_elements() = vec<T, 2>(T(lane), T(lane + 1));
  two.thread_elements()[1] += T(1);
  simdgroup_store(two, own + 64, 16, ulong2(8, 0));
  threadgroup_barrier(mem_flags::mem_threadgroup);
  EXPECT(T(own[64 + 16 * row + 8 + column]), T(lane));
  EXPECT(T(own[64 + 16 * row + 8 + column + 1]), T(lane + 2));
  threadgroup_barrier(mem_flags::mem_threadgroup);
}

kernel void of_threadgroup(device Report* out [[buffer(0)]], uint lane [[thread_index_in_simdgroup]],
                           uint group [[simdgroup_index_in_threadgroup]]) {
  Tally report;
  threadgroup float floats[384];
  threadgroup half halves[384];
  threadgroup bfloat bfloats[384];
  check(report, floats, lane, group);
  check(report, halves, lane, group);
  check(report, bfloats, lane, group);
  report.tell(out);
}

kernel void mixed(device Report* out [[buffer(0)]], uint lane [[thread_index_in_simdgroup]]) {
  Tally report;
  const simdgroup_half8x8 half_unit(1.0h);
  const simdgroup_bfloat8x8 bfloat_unit(bfloat(1.0f));
  simdgroup_float8x8 sums[3];
  for (int i = 0; i < 3; ++i) sums[i] = make_filled_simdgroup_matrix<float, 8, 8>(float(i));
  for (int i = 0; i < 3; ++i) simdgroup_multiply_accumulate(sums[i], half_unit, bfloat_unit, sums[i]);
  const float on_diagonal = row_of(lane) == column_of(lane) ? 1 : 0;
  for (int i = 0; i < 3; ++i) EXPECT(float(sums[i].thread_elements()[0]), on_diagonal + i);
  simdgroup_float8x8 from_halves;
  simdgroup_multiply_accumulate(from_halves, half_unit, half_unit, half_unit);
  EXPECT(float(from_halves.thread_elements()[0]), 2 * on_diagonal);
  report.tell(out);
}
