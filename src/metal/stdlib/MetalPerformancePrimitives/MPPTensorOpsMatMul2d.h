// Products of matrices.
#pragma once

#include <MetalPerformancePrimitives/__tensor_ops_types.h>

namespace mpp {
namespace tensor_ops {

// A class is no template argument in C++17; this one becomes a number for that, and is made of it again.
struct matmul2d_descriptor {
  enum class mode { multiply, multiply_accumulate };

  int m, n, k;
  bool transpose_left, transpose_right, relaxed_precision;
  mode matmul_mode;

  METAL_FUNC constexpr matmul2d_descriptor(int m, int n, int k = int(metal::dynamic_extent),
                                           bool transpose_left = false, bool transpose_right = false,
                                           bool relaxed_precision = false, mode matmul_mode = mode::multiply)
      : m(m),
        n(n),
        k(k),
        transpose_left(transpose_left),
        transpose_right(transpose_right),
        relaxed_precision(relaxed_precision),
        matmul_mode(matmul_mode) {}

  typedef unsigned _BitInt(128) __number;
  METAL_FUNC constexpr operator __number() const {
    const uint truths = uint(transpose_left) | uint(transpose_right) << 1 | uint(relaxed_precision) << 2;
    return __number(uint(m)) | __number(uint(n)) << 32 | __number(uint(k)) << 64 |
           __number(truths | uint(matmul_mode) << 3) << 96;
  }
  METAL_FUNC static constexpr matmul2d_descriptor __of(__number number) {
    const uint rest = uint(number >> 96);
    return matmul2d_descriptor(int(uint(number)), int(uint(number >> 32)), int(uint(number >> 64)), (rest & 1) != 0,
                               (rest & 2) != 0, (rest & 4) != 0, mode(rest >> 3));
  }
};

// What all functions of a product's cooperative tensors are told: which operand, and the descriptor.
#define __MPP_COMMON \
  int operand, int m, int n, int k, char transpose_left, char transpose_right, char relaxed_precision, int mode
#define __MPP_NAME(name) __asm__("__tensorops_impl_matmul2d_op_" name) __attribute__((__convergent__, __nothrow__))
void __matmul2d_init(__MPP_COMMON, thread void*, int left, int right, int destination, int threads)
    __MPP_NAME("cooperative_tensor_init");
ushort __matmul2d_capacity(__MPP_COMMON, const thread void*, int left, int right, int threads)
    __MPP_NAME("cooperative_tensor_num_elements");
thread void* __matmul2d_element(__MPP_COMMON, const thread void*, ushort i, int left, int right, int destination)
    __MPP_NAME("cooperative_tensor_get_element_pointer");
bool __matmul2d_is_valid(__MPP_COMMON, const thread void*, ushort i, int left, int right, int destination, int threads)
    __MPP_NAME("cooperative_tensor_is_valid_element");
void __matmul2d_coordinate(__MPP_COMMON, const thread void*, ushort i, thread int* to, int type, int threads, int left,
                           int right, int destination) __MPP_NAME("cooperative_tensor_get_coordinate");
// Of tensors in a thread's memory, of rank 2.
#define __MPP_TRANSFER(space, prefix, T, name)                                                                         \
  void __matmul2d_load(__MPP_COMMON, thread void*, const thread space<T>*, int descriptor, int rank, int left,         \
                       int right, int destination, int threads) __MPP_NAME("cooperative_tensor_load_" prefix name);    \
  void __matmul2d_store(__MPP_COMMON, const thread void*, const thread space<T>*, int descriptor, int left, int right, \
                        int destination, int threads) __MPP_NAME("cooperative_tensor_store_" prefix name);
#define __MPP_TRANSFERS(T, name)              \
  __MPP_TRANSFER(__in_device, "dv_", T, name) \
  __MPP_TRANSFER(__in_threadgroup, "tg_", T, name)
__MPP_TRANSFERS(float, "f32")
__MPP_TRANSFERS(half, "f16")
__MPP_TRANSFERS(bfloat, "b16")
__MPP_TRANSFERS(char, "i8")
__MPP_TRANSFERS(uchar, "ui8")
__MPP_TRANSFERS(int, "i32")
#undef __MPP_TRANSFERS
#undef __MPP_TRANSFER
#undef __MPP_COMMON

// Operands in memory come with how they are described.
#define __MPP_HELD(T) thread __cooperative<T>*
#define __MPP_DEVICE(T) thread __in_device<T>*, int
#define __MPP_THREADGROUP(T) thread __in_threadgroup<T>*, int
#define __MPP_RUN(name, ...) \
  void __matmul2d_run(const thread matmul2d_descriptor*, __VA_ARGS__, int threads) __MPP_NAME("run_" name);
#define __MPP_RUNS_INTO(left, L, l, right, R, r, D, d)                      \
  __MPP_RUN("cooperative_" l "_" r "_" d, left(L), right(R), __MPP_HELD(D)) \
  __MPP_RUN(l "_" r "_dv_" d, left(L), right(R), __MPP_DEVICE(D))           \
  __MPP_RUN(l "_" r "_tg_" d, left(L), right(R), __MPP_THREADGROUP(D))
#define __MPP_RUNS_WITH(left, L, l, R, r, D, d)               \
  __MPP_RUNS_INTO(left, L, l, __MPP_HELD, R, r, D, d)         \
  __MPP_RUNS_INTO(left, L, l, __MPP_DEVICE, R, "dv_" r, D, d) \
  __MPP_RUNS_INTO(left, L, l, __MPP_THREADGROUP, R, "tg_" r, D, d)
#define __MPP_RUNS(L, l, R, r, D, d)                    \
  __MPP_RUNS_WITH(__MPP_HELD, L, l, R, r, D, d)         \
  __MPP_RUNS_WITH(__MPP_DEVICE, L, "dv_" l, R, r, D, d) \
  __MPP_RUNS_WITH(__MPP_THREADGROUP, L, "tg_" l, R, r, D, d)
#define __MPP_RUNS_OF_REALS(L, l, R, r) \
  __MPP_RUNS(L, l, R, r, float, "f32")  \
  __MPP_RUNS(L, l, R, r, half, "f16")   \
  __MPP_RUNS(L, l, R, r, bfloat, "b16")
#define __MPP_RUNS_OF_LEFT(L, l)          \
  __MPP_RUNS_OF_REALS(L, l, float, "f32") \
  __MPP_RUNS_OF_REALS(L, l, half, "f16")  \
  __MPP_RUNS_OF_REALS(L, l, bfloat, "b16")
__MPP_RUNS_OF_LEFT(float, "f32")
__MPP_RUNS_OF_LEFT(half, "f16")
__MPP_RUNS_OF_LEFT(bfloat, "b16")
__MPP_RUNS(char, "i8", char, "i8", int, "i32")
__MPP_RUNS(char, "i8", uchar, "ui8", int, "i32")
__MPP_RUNS(uchar, "ui8", char, "i8", int, "i32")
__MPP_RUNS(uchar, "ui8", uchar, "ui8", int, "i32")
#undef __MPP_RUNS_OF_LEFT
#undef __MPP_RUNS_OF_REALS
#undef __MPP_RUNS
#undef __MPP_RUNS_WITH
#undef __MPP_RUNS_INTO
#undef __MPP_RUN
#undef __MPP_THREADGROUP
#undef __MPP_DEVICE
#undef __MPP_HELD
#undef __MPP_NAME

// An operand, 0, 1 or 2, of a product of elements L and R to D.
template <matmul2d_descriptor::__number Descriptor, typename Scope, int Operand, typename L, typename R, typename D>
struct __matmul2d_layout {
  static constexpr constant matmul2d_descriptor d = matmul2d_descriptor::__of(Descriptor);
  static constexpr constant bool __transposed = Operand == 0 ? d.transpose_left : Operand == 1 && d.transpose_right;
  static constexpr constant int __first = Operand == 1 ? d.k : d.m;
  static constexpr constant int __second = Operand == 0 ? d.k : d.n;
  static constexpr constant int __rows = __transposed ? __second : __first;
  static constexpr constant int __columns = __transposed ? __first : __second;
  static_assert(__rows > 0 && __columns > 0, "a cooperative tensor has extents that the compiler knows");
  typedef metal::conditional_t<Operand == 0, L, metal::conditional_t<Operand == 1, R, D>> element;
  static constexpr constant int __bytes =
      __part_header + __part_of_matrix(__rows, __columns, Scope::__threads) * int(sizeof(element));
  static constexpr constant int __left = __type_code<L>::value;
  static constexpr constant int __right = __type_code<R>::value;
  static constexpr constant int __destination = __type_code<D>::value;

#define __MPP_GIVEN Operand, d.m, d.n, d.k, d.transpose_left, d.transpose_right, d.relaxed_precision, int(d.matmul_mode)
#define __MPP_TYPES __left, __right, __destination
  METAL_FUNC static void __init(thread void* tensor) {
    __matmul2d_init(__MPP_GIVEN, tensor, __MPP_TYPES, Scope::__threads);
  }
  METAL_FUNC static ushort __capacity(const thread void* tensor) {
    return __matmul2d_capacity(__MPP_GIVEN, tensor, __left, __right, Scope::__threads);
  }
  METAL_FUNC static thread void* __element(const thread void* tensor, ushort i) {
    return __matmul2d_element(__MPP_GIVEN, tensor, i, __MPP_TYPES);
  }
  METAL_FUNC static bool __is_valid(const thread void* tensor, ushort i) {
    return __matmul2d_is_valid(__MPP_GIVEN, tensor, i, __MPP_TYPES, Scope::__threads);
  }
  METAL_FUNC static void __coordinate(const thread void* tensor, ushort i, thread int* to) {
    __matmul2d_coordinate(__MPP_GIVEN, tensor, i, to, __type_code<int>::value, Scope::__threads, __MPP_TYPES);
  }
  template <typename Tensor>
  METAL_FUNC static auto* __memory(thread Tensor& tensor) {
    typedef __operand_of<Tensor> Memory;
    static_assert(Memory::in_memory, "a cooperative tensor is loaded from memory and stored there");
    static_assert(__is_same(typename Memory::element, element), "the tensors have elements of different types");
    return (thread typename Memory::type*)tensor.__descriptor();
  }
  template <typename Tensor>
  METAL_FUNC static void __load(thread void* tensor, Tensor from) {
    __matmul2d_load(__MPP_GIVEN, tensor, __memory(from), __inline_tensor, 2, __MPP_TYPES, Scope::__threads);
  }
  template <typename Tensor>
  METAL_FUNC static void __store(const thread void* tensor, Tensor to) {
    __matmul2d_store(__MPP_GIVEN, tensor, __memory(to), __inline_tensor, __MPP_TYPES, Scope::__threads);
  }
#undef __MPP_TYPES
#undef __MPP_GIVEN
};

template <matmul2d_descriptor::__number Descriptor, typename Scope, class... Args>
class matmul2d {
 public:
  static constexpr constant matmul2d_descriptor descriptor = matmul2d_descriptor::__of(Descriptor);
  typedef Scope scope;

 private:
  template <int Operand, typename L, typename R, typename D>
  using layout = __matmul2d_layout<Descriptor, Scope, Operand, __element_of_t<L>, __element_of_t<R>, __element_of_t<D>>;
  template <int Operand, typename L, typename R, typename D, typename Index>
  using operand_t = metal::cooperative_tensor<typename layout<Operand, L, R, D>::element, metal::dextents<Index, 2>,
                                              layout<Operand, L, R, D>>;

 public:
  template <typename L, typename R, typename D, typename Index = int>
  using cooperative_tensor_left_input_t = operand_t<0, L, R, D, Index>;
  template <typename L, typename R, typename D, typename Index = int>
  using cooperative_tensor_right_input_t = operand_t<1, L, R, D, Index>;
  template <typename L, typename R, typename D, typename Index = int>
  using cooperative_tensor_destination_t = operand_t<2, L, R, D, Index>;

  template <typename L, typename R, typename D, typename Index = int>
  METAL_FUNC cooperative_tensor_left_input_t<L, R, D, Index> get_left_input_cooperative_tensor() const {
    return {};
  }
  template <typename L, typename R, typename D, typename Index = int>
  METAL_FUNC cooperative_tensor_right_input_t<L, R, D, Index> get_right_input_cooperative_tensor() const {
    return {};
  }
  template <typename L, typename R, typename D, typename Index = int>
  METAL_FUNC cooperative_tensor_destination_t<L, R, D, Index> get_destination_cooperative_tensor() const {
    return {};
  }

  // All threads of the scope come here together.
  template <typename Left, typename Right, typename Destination>
  METAL_FUNC METAL_CONVERGENT void run(thread Left& left, thread Right& right, thread Destination& destination) const {
    constexpr bool l = __operand_of<Left>::in_memory;
    constexpr bool r = __operand_of<Right>::in_memory;
    constexpr bool d = __operand_of<Destination>::in_memory;
    static_assert(Scope::__threads <= 32 || (l && r), "cooperative tensors are multiplied by one simdgroup");
    const matmul2d_descriptor how = descriptor;
    auto* a = __address(left);
    auto* b = __address(right);
    auto* c = __address(destination);
    constexpr int in = __inline_tensor;
    constexpr int threads = Scope::__threads;
    if constexpr (l && r && d) {
      __matmul2d_run(&how, a, in, b, in, c, in, threads);
    } else if constexpr (l && r) {
      __matmul2d_run(&how, a, in, b, in, c, threads);
    } else if constexpr (l && d) {
      __matmul2d_run(&how, a, in, b, c, in, threads);
    } else if constexpr (r && d) {
      __matmul2d_run(&how, a, b, in, c, in, threads);
    } else if constexpr (l) {
      __matmul2d_run(&how, a, in, b, c, threads);
    } else if constexpr (r) {
      __matmul2d_run(&how, a, b, in, c, threads);
    } else if constexpr (d) {
      __matmul2d_run(&how, a, b, c, in, threads);
    } else {
      __matmul2d_run(&how, a, b, c, threads);
    }
  }

 private:
  template <typename T>
  METAL_FUNC static auto* __address(thread T& tensor) {
    typedef __operand_of<T> Operand;
    if constexpr (Operand::in_memory) {
      return (thread typename Operand::type*)tensor.__descriptor();
    } else {
      return (thread typename Operand::type*)tensor.__whole();
    }
  }
};

}  // namespace tensor_ops
}  // namespace mpp
