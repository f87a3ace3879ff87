kernel void strided(global const float* x, global float* out, uint stride, float bias) {
  const uint i = get_global_id(0);
  out[i] = x[i * stride] + bias;
}
