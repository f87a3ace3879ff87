// 3:63: no member named 'i' in 'Bits'
union Bits { float f; uint u; };
kernel void k(device uint* out) { Bits b; b.f = 1; out[0] = b.i; }
