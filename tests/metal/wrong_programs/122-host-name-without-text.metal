// 2:30: 'host_name' attribute of 'k' takes a text
[[host_name(7)]] kernel void k(device float* out) { out[0] = 1; }
