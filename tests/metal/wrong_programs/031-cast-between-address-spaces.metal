// 3:26: C-style cast from 'device float *' to 'threadgroup float *' converts between mismatching address spaces
kernel void k(device float* out) {
  threadgroup float* p = (threadgroup float*)out;
  *p = 1;
}
