// 7:12: 'dynamic_cast' is not supported in Metal
struct A { float x; };
struct B : A {};
kernel void k(device float* out) {
  B b;
  thread A* a = &b;
  out[0] = dynamic_cast<thread B*>(a)->x;
}
