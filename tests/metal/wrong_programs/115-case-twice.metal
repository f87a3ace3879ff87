// 5:10: duplicate case value '1'
kernel void k(device int* out) {
  switch (out[0]) {
    case 1: out[1] = 1; break;
    case 1: out[1] = 2; break;
  }
}
