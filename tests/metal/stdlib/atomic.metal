// Atomic functions. All 64 threads meet in each.
#include "check.h"

#define RELAXED memory_order_relaxed

template <typename T, typename Pointer>
void check(thread Tally& report, Pointer cell, uint i) {
  // Before and behind each step the cell holds what it should, which the first thread looks at.
  const auto step = [&](T begin, thread auto&& update, T end) {
    threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
    if (i == 0) atomic_store_explicit(cell, begin, RELAXED);
    threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
    update();
    threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
    EXPECT(atomic_load_explicit(cell, RELAXED), end);
  };
  step(T(5), [&] { atomic_fetch_add_explicit(cell, 2, RELAXED); }, T(133));
  step(T(133), [&] { atomic_fetch_sub_explicit(cell, 2, RELAXED); }, T(5));
  step(T(0), [&] { atomic_exchange_explicit(cell, 7, RELAXED); }, T(7));
  step(T(1), [&] {
    T seen = atomic_load_explicit(cell, RELAXED);
    while (!atomic_compare_exchange_weak_explicit(cell, &seen, seen + T(3), RELAXED, RELAXED)) {
    }
  }, T(193));
}

template <typename T, typename Pointer>
void check_integer(thread Tally& report, Pointer cell, uint i) {
  const auto step = [&](T begin, thread auto&& update, T end) {
    threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
    if (i == 0) atomic_store_explicit(cell, begin, RELAXED);
    threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
    update();
    threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
    EXPECT(atomic_load_explicit(cell, RELAXED), end);
  };
  step(T(~0), [&] { atomic_fetch_and_explicit(cell, ~T(1u << (i % 8)), RELAXED); }, T(~0xff));
  step(T(0x100), [&] { atomic_fetch_or_explicit(cell, T(1u << (i % 8)), RELAXED); }, T(0x1ff));
  step(T(0x5), [&] { atomic_fetch_xor_explicit(cell, T(i), RELAXED); }, T(0x5));
  step(T(10), [&] { atomic_fetch_max_explicit(cell, T(i), RELAXED); }, T(63));
  step(T(10), [&] { atomic_fetch_min_explicit(cell, T(i) + T(3), RELAXED); }, T(3));
}


kernel void in_threadgroup(device Report* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  Tally report;
  threadgroup atomic_int of_int;
  threadgroup atomic_uint of_uint;
  threadgroup atomic_float of_float;
  threadgroup atomic_bool of_bool;
  check<int>(report, &of_int, i);
  check<uint>(report, &of_uint, i);
  check<float>(report, &of_float, i);
  check_integer<int>(report, &of_int, i);
  check_integer<uint>(report, &of_uint, i);
  if (i == 0) atomic_store_explicit(&of_int, -5, RELAXED);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  atomic_fetch_min_explicit(&of_int, -int(i), RELAXED);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  EXPECT(atomic_load_explicit(&of_int, RELAXED), -63);
  if (i == 0) atomic_store_explicit(&of_bool, false, RELAXED);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (i == 7) EXPECT(atomic_exchange_explicit(&of_bool, true, RELAXED), false);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  EXPECT(atomic_load_explicit(&of_bool, RELAXED), true);
  bool seen = true;
  EXPECT(atomic_compare_exchange_weak_explicit(&of_bool, &seen, true, RELAXED, RELAXED), true);
  report.tell(out);
}

kernel void in_device(device Report* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  Tally report;
  // The last lines of the report are free: what fails is told later.
  check<uint>(report, (device atomic_uint*)&out->lines[60], i);
  check<int>(report, (device atomic_int*)&out->lines[60], i);
  check<float>(report, (device atomic_float*)&out->lines[60], i);
  check_integer<uint>(report, (device atomic_uint*)&out->lines[60], i);
  device atomic_ulong* wide = (device atomic_ulong*)&out->lines[60];
  device ulong* plain = (device ulong*)wide;
  threadgroup_barrier(mem_flags::mem_device);
  if (i == 0) *plain = 5;
  threadgroup_barrier(mem_flags::mem_device);
  atomic_max_explicit(wide, ulong(i) << 40, RELAXED);
  atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst);
  atomic_thread_fence(mem_flags::mem_device, memory_order_acq_rel, thread_scope_threadgroup);
  threadgroup_barrier(mem_flags::mem_device);
  EXPECT(*plain, 63ul << 40);
  threadgroup_barrier(mem_flags::mem_device);
  atomic_min_explicit(wide, (ulong(i) << 40) + 1, RELAXED);
  threadgroup_barrier(mem_flags::mem_device);
  EXPECT(*plain, 1ul);
  report.tell(out);
}
