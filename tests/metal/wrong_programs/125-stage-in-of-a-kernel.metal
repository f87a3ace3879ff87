// 3:18: invalid type 'In' for input declaration in a kernel function: it is neither a pointer or a reference nor has an attribute that says what it is
struct In { float4 p [[attribute(0)]]; };
kernel void k(In in [[stage_in]], device float4* out) { out[0] = in.p; }
