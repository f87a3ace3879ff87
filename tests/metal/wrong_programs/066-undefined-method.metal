// 8:5: undefined symbol: function 'Accumulator::add' has no definition
struct Accumulator {
  float sum;
  void add(float x);
};
kernel void k(device float* out) {
  Accumulator a{0};
  a.add(out[0]);
  out[0] = a.sum;
}
