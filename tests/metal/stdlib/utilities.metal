// What is beside the numbers: arrays, uniform values, logging, assertions, and which names there are.
#include "check.h"

struct Parameters {
  metal::array<int, 3> sizes;
  packed_float3 scale;
};

int sum_of(constant int* numbers, uint count) {
  int sum = 0;
  for (uint i = 0; i < count; ++i) sum += numbers[i];
  return sum;
}
constant Parameters parameters = {{{1, 2, 3}}, {4, 5, 6}};

kernel void arrays(device Report* out [[buffer(0)]]) {
  Tally report;
  metal::array<float, 3> numbers{1, 2, 3};
  for (thread float& number : numbers) number *= 2;
  EXPECT(float(numbers[2]), 6.0f);
  EXPECT(numbers.size(), size_t(3));
  EXPECT(float(numbers.front() + numbers.back()), 8.0f);
  const metal::array<float, 3> doubled{2, 4, 6};
  EXPECT(numbers == doubled, true);
  numbers.fill(7);
  EXPECT(*(numbers.data() + 1), 7.0f);
  EXPECT(sum_of(parameters.sizes.data(), 3), 6);
  EXPECT(sum_of(parameters.sizes.data() + 1, 2), 5);
  EXPECT(float3(parameters.scale), float3(4, 5, 6));
  report.tell(out);
}

#pragma clang diagnostic ignored "-Wc99-designator"
template <int N>
float sum_of_range() {
  float numbers[N] = {[0 ... N - 1] = 0.5f};
  float sum = 0;
  for (int i = 0; i < N; ++i) sum += numbers[i];
  return sum;
}

template <size_t... I>
int sum_of_indices(index_sequence<I...>) {
  return (int(I) + ... + 0);
}

kernel void others(device Report* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  Tally report;
  const uniform<float> scale = make_uniform(2.0f) * make_uniform(1.5f);
  EXPECT(scale * 2.0f, 6.0f);
  const uniform<uint2> pair = make_uniform(uint2(1, 2));
  EXPECT(uint(pair.y), 2u);
  EXPECT(sum_of_range<4>(), 2.0f);
  EXPECT(sum_of_indices(make_index_sequence<5>()), 10);
  assert(i < 64);
  os_log_default.log("thread %d", i);
  const os_log own("subsystem", "category");
  own.log_error("thread %d of %f", i, 1.0f);
  CHECK(true);
  report.tell(out);
}
