// Products and convolutions of tensors, done by a simdgroup together, or by a thread where the scope is one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "metal/abi/cooperative_op.h"
#include "metal/abi/tensor_layout.h"

namespace anymps::metal::abi {

// mpp::tensor_ops::matmul2d_descriptor.
struct Matmul2dDescriptor {
  std::int32_t m, n, k;  // k: -1 where the operands say it
  bool transpose_left, transpose_right, relaxed_precision;
  std::int32_t mode;  // 1: the destination is added to
};
static_assert(sizeof(Matmul2dDescriptor) == 20);
constexpr std::int32_t kMultiplyAccumulate = 1;

// mpp::tensor_ops::convolution2d_descriptor. Dimensions are (channels, width, height, batch), those of the kernel
// (width, height).
struct Convolution2dDescriptor {
  std::int32_t destination[4];
  std::int32_t source[4];  // channels: -1 where the operands say it
  std::int32_t kernel[2];
  std::int32_t activation_layout, weights_layout;  // 0: NHWC, HWIO
  std::int32_t strides[2];
  std::int32_t dilations[2];
  std::int32_t groups;
  bool relaxed_precision;
  std::int32_t mode;
};
static_assert(sizeof(Convolution2dDescriptor) == 76);

// What a thread gives to a tensor operation: an address of this. Generated code fills it in.
struct TensorOperand {
  enum class Where : std::uint32_t { kCooperative, kMemory };
  std::byte* data;  // what tensor_layout.h describes
  Where where;
  TensorElement element;
};
struct TensorCall {
  enum class Kind : std::uint32_t { kMatmul2d, kConvolution2d };
  const void* descriptor;
  TensorOperand left, right, destination;  // of a convolution: activations, weights
  const std::int32_t* offsets;             // of a convolution's windows, across and down
  Kind kind;
  std::uint32_t threads;    // of the scope
  std::uint32_t simdgroup;  // of the scope, this one's number
  std::uint32_t unused;
};

// `given` is the address of each lane's TensorCall; lanes of `mask` are there, and what others hold counts as zero.
void perform_tensor_operation(const Simdgroup& simdgroup, std::uint32_t mask);

}  // namespace anymps::metal::abi
