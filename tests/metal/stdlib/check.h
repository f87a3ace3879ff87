// For kernels that check themselves. What they expect was computed elsewhere, by hand or to many digits.
#pragma once

#include <metal_stdlib>
using namespace metal;

// As in stdlib_test.cpp.
struct Report {
  atomic_uint checks;
  atomic_uint failures;
  uint lines[62];
};

// What a thread has found: how many checks, how many failed, and the first line of those.
struct Tally {
  uint checks = 0;
  uint failures = 0;
  uint line = 0;

  void note(bool holds, uint where) thread {
    checks += 1;
    failures += holds ? 0 : 1;
    line = holds || line != 0 ? line : where;
  }
  void tell(device Report* report) const thread {
    atomic_fetch_add_explicit(&report->checks, checks, memory_order_relaxed);
    if (failures == 0) return;
    const uint n = atomic_fetch_add_explicit(&report->failures, 1, memory_order_relaxed);
    if (n < 62) report->lines[n] = line;
  }
};

// What the compiler may not know.
template <typename T>
T unknown(T value) {
  volatile T hidden = value;
  return hidden;
}
template <typename T, int N>
vec<T, N> unknown(vec<T, N> value) {
  for (int i = 0; i < N; ++i) value[i] = unknown(value[i]);
  return value;
}

template <typename T>
bool same(T x, T y) {
  return x == y;
}
template <typename T, int N>
bool same(vec<T, N> x, vec<T, N> y) {
  return all(x == y);
}

// Within some units in the last place of a float, a half.
inline bool near(float x, float y, float units) { return fabs(x - y) <= units * 1.2e-7f * fabs(y) + 1e-37f; }
inline bool near(half x, half y, float units) {
  return fabs(float(x) - float(y)) <= units * 9.8e-4f * fabs(float(y)) + 6e-8f * units;
}
template <typename T, int N>
bool near(vec<T, N> x, vec<T, N> y, float units) {
  bool all_near = true;
  for (int i = 0; i < N; ++i) all_near = all_near && near(x[i], y[i], units);
  return all_near;
}

// Types are part of what is expected.
#define CHECK(...) report.note((__VA_ARGS__), __LINE__)
#define EXPECT(actual, expected)                                                                            \
  do {                                                                                                      \
    static_assert(is_same_v<remove_cvref_t<decltype(actual)>, remove_cvref_t<decltype(expected)>>, "type"); \
    report.note(same(actual, expected), __LINE__);                                                          \
  } while (0)
#define EXPECT_NEAR(actual, expected, units)                                                                \
  do {                                                                                                      \
    static_assert(is_same_v<remove_cvref_t<decltype(actual)>, remove_cvref_t<decltype(expected)>>, "type"); \
    report.note(near(actual, expected, units), __LINE__);                                                   \
  } while (0)
