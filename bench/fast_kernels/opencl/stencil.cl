kernel void stencil(global const float* x, global float* out, float rate) {
  const uint ax = get_global_id(0), ay = get_global_id(1), width = get_global_size(0), height = get_global_size(1);
  const uint i = ay * width + ax;
  const float here = x[i];
  if (ax == 0 || ay == 0 || ax == width - 1 || ay == height - 1) {
    out[i] = here;
    return;
  }
  out[i] = here + rate * (x[i - 1] + x[i + 1] + x[i - width] + x[i + width] - 4 * here);
}
