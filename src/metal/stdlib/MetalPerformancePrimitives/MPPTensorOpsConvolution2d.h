// Convolutions of tensors (channels, width, height, batch) with weights (outputs, channels, width, height).
#pragma once

#include <MetalPerformancePrimitives/__tensor_ops_types.h>

namespace mpp {
namespace tensor_ops {

enum class convolution2d_activation_layout { nhwc };
enum class convolution2d_weights_layout { hwio };

// As matmul2d_descriptor, a number where it is a template argument.
struct convolution2d_descriptor {
  enum class mode { multiply, multiply_accumulate };

  int4 destination_dimensions, source_dimensions;
  int2 kernel_dimensions;
  convolution2d_activation_layout activation_layout;
  convolution2d_weights_layout weights_layout;
  int2 strides, dilations;
  int groups;
  bool relaxed_precision;
  mode convolution_mode;

  METAL_FUNC constexpr convolution2d_descriptor(
      int4 destination, int4 source, int2 kernel_dimensions,
      convolution2d_activation_layout activation_layout = convolution2d_activation_layout::nhwc,
      convolution2d_weights_layout weights_layout = convolution2d_weights_layout::hwio, int2 strides = int2(1, 1),
      int2 dilations = int2(1, 1), int groups = 1, bool relaxed_precision = false,
      mode convolution_mode = mode::multiply)
      : destination_dimensions(destination),
        source_dimensions(source),
        kernel_dimensions(kernel_dimensions),
        activation_layout(activation_layout),
        weights_layout(weights_layout),
        strides(strides),
        dilations(dilations),
        groups(groups),
        relaxed_precision(relaxed_precision),
        convolution_mode(convolution_mode) {}

  typedef unsigned _BitInt(576) __number;
  METAL_FUNC constexpr operator __number() const {
    const int all[] = {destination_dimensions.x,
                       destination_dimensions.y,
                       destination_dimensions.z,
                       destination_dimensions.w,
                       source_dimensions.x,
                       source_dimensions.y,
                       source_dimensions.z,
                       source_dimensions.w,
                       kernel_dimensions.x,
                       kernel_dimensions.y,
                       strides.x,
                       strides.y,
                       dilations.x,
                       dilations.y,
                       groups,
                       int(relaxed_precision),
                       int(convolution_mode)};
    __number number = 0;
    for (int i = 0; i < 17; ++i) number |= __number(uint(all[i])) << 32 * i;
    return number;
  }
};

// The same as the functions of AIR are given it: 76 bytes.
struct __convolution2d_given {
  int destination[4], source[4], kernel_dimensions[2], activation_layout, weights_layout, strides[2], dilations[2],
      groups;
  bool relaxed_precision;
  int mode;

  METAL_FUNC static constexpr int __at(convolution2d_descriptor::__number number, int i) {
    return int(uint(number >> 32 * i));
  }
  METAL_FUNC constexpr __convolution2d_given(convolution2d_descriptor::__number n)
      : destination{__at(n, 0), __at(n, 1), __at(n, 2), __at(n, 3)},
        source{__at(n, 4), __at(n, 5), __at(n, 6), __at(n, 7)},
        kernel_dimensions{__at(n, 8), __at(n, 9)},
        activation_layout(0),
        weights_layout(0),
        strides{__at(n, 10), __at(n, 11)},
        dilations{__at(n, 12), __at(n, 13)},
        groups(__at(n, 14)),
        relaxed_precision(__at(n, 15) != 0),
        mode(__at(n, 16)) {}
};
static_assert(sizeof(__convolution2d_given) == 76, "");

#define __MPP_NAME(name) __asm__("__tensorops_impl_conv" name) __attribute__((__convergent__, __nothrow__))
void __convolution2d_init(thread void*, const thread __convolution2d_given*, int type, int activations, int weights,
                          int threads) __MPP_NAME("2d_cooperative_destination_tensor_init");
ushort __convolution2d_capacity(const thread __convolution2d_given*, const thread void*, int type, int activations,
                                int weights, int threads) __MPP_NAME("2d_cooperative_destination_tensor_num_elements");
thread void* __convolution2d_element(const thread void*, ushort i, int type, int threads)
    __MPP_NAME("2d_cooperative_destination_tensor_elements");
void __convolution2d_coordinate(const thread __convolution2d_given*, const thread void*, ushort i, int type,
                                thread int* to, int index, int destination, int activations, int weights, int threads)
    __MPP_NAME("2d_cooperative_destination_tensor_get_coordinate");
#define __MPP_RUN(T, name)                                                                                           \
  void __convolution2d_run(const thread __convolution2d_given*, thread __in_device<T>*, int, thread __in_device<T>*, \
                           int, thread void* destination, int threads, const thread int* offsets)                    \
      __MPP_NAME("olution2d_op_run_cooperative_dv_" name "_dv_" name "_f32");
__MPP_RUN(float, "f32")
__MPP_RUN(half, "f16")
__MPP_RUN(bfloat, "bf")
#undef __MPP_RUN
#undef __MPP_NAME

template <convolution2d_descriptor::__number Descriptor, typename Scope, typename A, typename W, typename D>
struct __convolution2d_layout {
  static constexpr constant __convolution2d_given d = __convolution2d_given(Descriptor);
  static_assert(d.groups == 1, "convolutions of several groups are not known here");
  typedef D element;
  static constexpr constant int __bytes =
      __part_header +
      __part_of_matrix(d.destination[1] * d.destination[2] * d.destination[3], d.destination[0], Scope::__threads) *
          int(sizeof(D));
  static constexpr constant int __types[] = {__type_code<D>::value, __type_code<A>::value, __type_code<W>::value};

  METAL_FUNC static void __init(thread void* tensor) {
    const __convolution2d_given given = d;
    __convolution2d_init(tensor, &given, __types[0], __types[1], __types[2], Scope::__threads);
  }
  METAL_FUNC static ushort __capacity(const thread void* tensor) {
    const __convolution2d_given given = d;
    return __convolution2d_capacity(&given, tensor, __types[0], __types[1], __types[2], Scope::__threads);
  }
  METAL_FUNC static thread void* __element(const thread void* tensor, ushort i) {
    return __convolution2d_element(tensor, i, __types[0], Scope::__threads);
  }
  METAL_FUNC static void __coordinate(const thread void* tensor, ushort i, thread int* to) {
    const __convolution2d_given given = d;
    __convolution2d_coordinate(&given, tensor, i, __types[0], to, __type_code<int>::value, __types[0], __types[1],
                               __types[2], Scope::__threads);
  }
  // By which function of AIR Apple's compiler stores one is not known: PyTorch's libraries have none.
  template <typename Tensor>
  METAL_FUNC static void __store(const thread void*, Tensor) {
    static_assert(metal::__no_tensor<Tensor>,
                  "the result of a convolution is stored by its elements' coordinates here");
  }
};

template <convolution2d_descriptor::__number Descriptor, typename Scope>
class convolution2d {
  template <typename A, typename W, typename D>
  using layout = __convolution2d_layout<Descriptor, Scope, __element_of_t<A>, __element_of_t<W>, D>;

 public:
  typedef Scope scope;
  template <typename A, typename W, typename D, typename Index = int>
  using cooperative_tensor_destination_t = metal::cooperative_tensor<D, metal::dextents<Index, 4>, layout<A, W, D>>;

  template <typename A, typename W, typename D, typename Index = int>
  METAL_FUNC cooperative_tensor_destination_t<A, W, D, Index> get_destination_cooperative_tensor() const {
    return {};
  }
  // Where the middle of the first window lies in the activations.
  METAL_FUNC void set_offsets(int2 offsets) {
    offsets_[0] = offsets.x;
    offsets_[1] = offsets.y;
  }

  // All threads of the scope come here together.
  template <typename A, typename W, typename Destination>
  METAL_FUNC METAL_CONVERGENT void run(thread A& activations, thread W& weights,
                                       thread Destination& destination) const {
    typedef __operand_of<A> From;
    typedef __operand_of<W> With;
    static_assert(__is_same(typename Destination::element_type, float), "a convolution is summed as float");
    const __convolution2d_given given = __descriptor;
    __convolution2d_run(&given, (thread typename From::type*)activations.__descriptor(), __inline_tensor,
                        (thread typename With::type*)weights.__descriptor(), __inline_tensor, destination.__whole(),
                        Scope::__threads, offsets_);
  }

 private:
  static constexpr constant __convolution2d_given __descriptor = __convolution2d_given(Descriptor);
  int offsets_[2] = {0, 0};
};

}  // namespace tensor_ops
}  // namespace mpp
