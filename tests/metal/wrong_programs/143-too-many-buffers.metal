// 8:27: there are 31 places for buffers, and no more
kernel void k(device int* a, device int* b, device int* c, device int* d, device int* e, device int* f,
              device int* g, device int* h, device int* i, device int* j, device int* l, device int* m,
              device int* n, device int* o, device int* p, device int* q, device int* r, device int* s,
              device int* t, device int* u, device int* v, device int* w, device int* x, device int* y,
              device int* z, device int* aa, device int* bb, device int* cc, device int* dd, device int* ee,
              device int* ff,
              device int* one_too_many) {
  a[0] = 1;
}
