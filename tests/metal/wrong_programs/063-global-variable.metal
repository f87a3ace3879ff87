// 2:5: program scope variable 'calls' must reside in constant address space
int calls = 0;
kernel void k(device int* out) {
  out[0] = ++calls;
}
