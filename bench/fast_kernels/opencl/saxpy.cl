kernel void saxpy(global const float* x, global const float* y, global float* out, float a) {
  const size_t i = get_global_id(0);
  out[i] = a * x[i] + y[i];
}
