// 3:43: assigning to 'int' from incompatible type 'Mode'
enum class Mode { fast, slow };
kernel void k(device int* out) { out[0] = Mode::fast; }
