// 2:17: no namespace named 'metl'; did you mean 'metal'?
using namespace metl;
kernel void k(device float* out) {}
