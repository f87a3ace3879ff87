// 2:1: 'thread_local' is not supported in Metal
thread_local int calls;
kernel void k(device int* out) {
  out[0] = ++calls;
}
