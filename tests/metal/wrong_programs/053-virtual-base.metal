// 3:18: 'virtual' is not supported in Metal
struct Base { float x; };
struct Derived : virtual Base {};
kernel void k(device float* out) {
  Derived d;
  out[0] = d.x;
}
