kernel void mandelbrot(global int* out, uint limit, float left, float top, float step) {
  const uint ax = get_global_id(0), ay = get_global_id(1);
  const float cx = left + ax * step, cy = top + ay * step;
  float x = 0, y = 0;
  uint n = 0;
  while (n < limit && x * x + y * y <= 4) {
    const float next = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = next;
    ++n;
  }
  out[ay * get_global_size(0) + ax] = n;
}
