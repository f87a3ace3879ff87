// 2:1: unknown type name 'import'
import std;
kernel void k(device float* out) {}
