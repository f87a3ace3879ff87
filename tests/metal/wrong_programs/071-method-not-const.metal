// 5:3: 'this' argument to member function 'next' has type 'const Counter', but function is not marked const
struct Counter { int n; void next() { ++n; } };
kernel void k(device int* out) {
  const Counter c = {1};
  c.next();
}
