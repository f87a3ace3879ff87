// 4:19: no matching constructor for initialization of 'threadgroup Sum'
struct Sum { float s; Sum(float x) : s(x) {} };
kernel void k(device float* out) {
  threadgroup Sum total;
  out[0] = total.s;
}
