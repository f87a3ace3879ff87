// What the functions behind tensor operations are told of operands, and the types by which the compiler chooses among
// them: there is one for each combination of operands.
#pragma once

#include <metal_cooperative_tensor>

namespace mpp {
namespace tensor_ops {

template <typename T>
struct __type_code;
#define __MPP_TYPE_CODE(T, code)                     \
  template <>                                        \
  struct __type_code<T> {                            \
    static constexpr constant int value = int(code); \
  };
__MPP_TYPE_CODE(float, 0x10000020)
__MPP_TYPE_CODE(half, 0x10000010)
__MPP_TYPE_CODE(bfloat, 0x90000010)
__MPP_TYPE_CODE(char, 0x20000008)
__MPP_TYPE_CODE(uchar, 0x00000008)
__MPP_TYPE_CODE(int, 0x20000020)
#undef __MPP_TYPE_CODE

// An operand as a pointer: of a cooperative tensor, or of one in memory.
template <typename T>
struct __cooperative {};
template <typename T>
struct __in_device {};
template <typename T>
struct __in_threadgroup {};

template <typename T>
struct __operand;
template <typename T, typename Extents, typename Layout>
struct __operand<metal::cooperative_tensor<T, Extents, Layout>> {
  typedef T element;
  typedef __cooperative<T> type;
  static constexpr constant bool in_memory = false;
};
#define __MPP_OPERAND(qualified, space)                                                  \
  template <typename T, typename Extents, typename... Tags>                              \
  struct __operand<metal::tensor<qualified T, Extents, metal::tensor_inline, Tags...>> { \
    typedef metal::remove_cv_t<T> element;                                               \
    typedef space<element> type;                                                         \
    static constexpr constant bool in_memory = true;                                     \
  };
__MPP_OPERAND(device, __in_device)
__MPP_OPERAND(threadgroup, __in_threadgroup)
#undef __MPP_OPERAND
template <typename T>
using __operand_of = __operand<metal::remove_cv_t<metal::remove_addrspace_t<T>>>;

// Of an operand, or a type of elements by itself.
template <typename T>
struct __element_of {
  typedef T type;
};
template <typename T, typename Extents, typename Descriptor, typename... Tags>
struct __element_of<metal::tensor<T, Extents, Descriptor, Tags...>> {
  typedef metal::remove_cv_t<metal::remove_addrspace_t<T>> type;
};
template <typename T, typename Extents, typename Layout>
struct __element_of<metal::cooperative_tensor<T, Extents, Layout>> {
  typedef T type;
};
template <typename T>
using __element_of_t = typename __element_of<metal::remove_cv_t<metal::remove_addrspace_t<T>>>::type;

// How much a thread needs for its part of a matrix: whole fragments of 16 by 16 of which a lane has 8 elements, or all
// of it where it is alone.
METAL_FUNC constexpr int __part_of_matrix(int rows, int columns, int threads) {
  const int simdgroups = threads / 32;
  const int fragments = (rows + 15) / 16 * ((columns + 15) / 16);
  return threads < 32 ? rows * columns : (fragments + simdgroups - 1) / simdgroups * 8;
}
constexpr constant int __part_header = 16;
// How a tensor in a thread's memory is called.
constexpr constant int __inline_tensor = 2;

}  // namespace tensor_ops
}  // namespace mpp
