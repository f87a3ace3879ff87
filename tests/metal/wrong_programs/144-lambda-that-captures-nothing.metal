// 4:33: variable 'x' cannot be implicitly captured in a lambda with no capture-default specified
kernel void k(device float* out) {
  float x = 1;
  auto f = [](float y) { return x + y; };
  out[0] = f(1);
}
