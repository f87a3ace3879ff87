// 3:3: 'break' statement not in loop or switch statement
kernel void k(device float* out) {
  break;
}
