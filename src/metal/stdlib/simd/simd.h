// clang-format off: Metal, to which its rules for C++ do not apply
// The names that Metal's vectors and matrices have in headers that host code includes too.
#pragma once

#include <metal_stdlib>

#define __METAL_SIMD_VECTOR(name, T)      \
  typedef metal::vec<T, 2> simd_##name##2; \
  typedef metal::vec<T, 3> simd_##name##3; \
  typedef metal::vec<T, 4> simd_##name##4; \
  typedef metal::vec<T, 2> vector_##name##2; \
  typedef metal::vec<T, 3> vector_##name##3; \
  typedef metal::vec<T, 4> vector_##name##4; \
  namespace simd {                          \
  using ::metal::name##2;                   \
  using ::metal::name##3;                   \
  using ::metal::name##4;                   \
  }
__METAL_SIMD_VECTOR(char, char)
__METAL_SIMD_VECTOR(uchar, uchar)
__METAL_SIMD_VECTOR(short, short)
__METAL_SIMD_VECTOR(ushort, ushort)
__METAL_SIMD_VECTOR(int, int)
__METAL_SIMD_VECTOR(uint, uint)
__METAL_SIMD_VECTOR(long, long)
__METAL_SIMD_VECTOR(ulong, ulong)
__METAL_SIMD_VECTOR(half, half)
__METAL_SIMD_VECTOR(float, float)

#define __METAL_SIMD_MATRIX(name)                \
  typedef metal::name simd_##name;               \
  typedef metal::name matrix_##name;             \
  namespace simd {                               \
  using ::metal::name;                           \
  }
#define __METAL_SIMD_MATRICES(T)                                                             \
  __METAL_SIMD_MATRIX(T##2x2) __METAL_SIMD_MATRIX(T##2x3) __METAL_SIMD_MATRIX(T##2x4)        \
  __METAL_SIMD_MATRIX(T##3x2) __METAL_SIMD_MATRIX(T##3x3) __METAL_SIMD_MATRIX(T##3x4)        \
  __METAL_SIMD_MATRIX(T##4x2) __METAL_SIMD_MATRIX(T##4x3) __METAL_SIMD_MATRIX(T##4x4)
__METAL_SIMD_MATRICES(half)
__METAL_SIMD_MATRICES(float)
