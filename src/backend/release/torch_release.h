// What differs between the releases of PyTorch that the backend is built against, each difference with a name and the
// first release that has it. The code asks for the name.
#pragma once

#include <torch/version.h>

#define ANYMPS_TORCH_SINCE(major, minor) \
  (TORCH_VERSION_MAJOR > (major) || (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))

// MetalShaderLibrary::exec_unary_kernel can ask for kernels that take four elements a thread; 2.13 has other ones.
#define ANYMPS_UNARY_HAS_VECTORS_OF_FOUR ANYMPS_TORCH_SINCE(2, 12)

// In exec_binary_kernel, the number beside tensors of two types has the result's type; before, that which they promote
// to.
#define ANYMPS_ALPHA_HAS_RESULTS_TYPE ANYMPS_TORCH_SINCE(2, 12)

// Below this version of macOS PyTorch finds no device.
#if ANYMPS_TORCH_SINCE(2, 15)
#define ANYMPS_OLDEST_MACOS 15
#else
#define ANYMPS_OLDEST_MACOS 14
#endif

// Attention's operator for MPS takes enable_gqa; before, keys and values are repeated in front of it.
#define ANYMPS_ATTENTION_GROUPS_QUERIES ANYMPS_TORCH_SINCE(2, 12)

// The hooks tell the longest buffer, for torch.mps.max_buffer_length().
#define ANYMPS_HOOKS_TELL_BUFFER_LENGTH ANYMPS_TORCH_SINCE(2, 13)

// MetalShaderLibrary answers which functions it has, compiled libraries have a class, and the helpers that launch
// kernels over iterators look for the form of a kernel that there is. Those of older releases ask for other forms.
#define ANYMPS_LIBRARIES_KNOW_THEIR_FUNCTIONS ANYMPS_TORCH_SINCE(2, 13)

// index_select and index_add tell of a bad index at the next synchronisation, with a text of their own.
#define ANYMPS_DEVICE_CHECKS_INDICES ANYMPS_TORCH_SINCE(2, 14)

// embedding_bag's kernel begins the first bag at zero, and looks whether the others lie within the indices.
#define ANYMPS_DEVICE_CHECKS_OFFSETS ANYMPS_TORCH_SINCE(2, 14)

// MetalShaderLibrary::exec_unary_kernel_raw takes the name as std::string_view, not as std::string.
#define ANYMPS_RAW_NAME_IS_VIEW ANYMPS_TORCH_SINCE(2, 14)

// MetalShaderLibrary::exec_ternary_kernel takes a number beside three tensors.
#define ANYMPS_TERNARY_TAKES_ALPHA ANYMPS_TORCH_SINCE(2, 15)

// Its kernels compute in the type that all inputs promote to, cast what they store, and find strided elements by three
// dimensions of the grid.
#define ANYMPS_TERNARY_CASTS_ITS_RESULT ANYMPS_TORCH_SINCE(2, 15)

// The stable C interface passes bytes to Metal kernels (torch_mps_set_arg_bytes).
#define ANYMPS_STABLE_SHIM_SETS_BYTES ANYMPS_TORCH_SINCE(2, 14)

// PYTORCH_MPS_METAL_VERSION says in which version of Metal sources are written.
#define ANYMPS_METAL_VERSION_CAN_BE_CHOSEN ANYMPS_TORCH_SINCE(2, 15)

// The device says that it has float8_e4m3fn. Metal kernels convert to and from it, and multiply it.
#define ANYMPS_DEVICE_HAS_FLOAT8 ANYMPS_TORCH_SINCE(2, 15)
