// 3:35: there are two kernels with the name 'same'
[[host_name("same")]] kernel void a(device float* out) {}
[[host_name("same")]] kernel void b(device float* out) {}
