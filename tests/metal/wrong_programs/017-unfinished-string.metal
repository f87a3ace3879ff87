// 3:58: expected expression
#define NAME "softmax
kernel void k(device float* out) { constant char* name = NAME; }
