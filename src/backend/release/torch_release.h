// What differs between the releases of PyTorch that the backend is built against, each difference with a name and the
// first release that has it. The code asks for the name.
#pragma once

#include <torch/version.h>

#define ANYMPS_TORCH_SINCE(major, minor) \
  (TORCH_VERSION_MAJOR > (major) || (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))

// Attention's operator for MPS takes enable_gqa; before, keys and values are repeated in front of it.
#define ANYMPS_ATTENTION_GROUPS_QUERIES ANYMPS_TORCH_SINCE(2, 12)

// The hooks tell the longest buffer, for torch.mps.max_buffer_length().
#define ANYMPS_HOOKS_TELL_BUFFER_LENGTH ANYMPS_TORCH_SINCE(2, 13)

// MetalShaderLibrary answers which functions it has, compiled libraries have a class, and the helpers that launch
// kernels over iterators look for the form of a kernel that there is. Those of older releases ask for other forms.
#define ANYMPS_LIBRARIES_KNOW_THEIR_FUNCTIONS ANYMPS_TORCH_SINCE(2, 13)

// MetalShaderLibrary::exec_unary_kernel_raw takes the name as std::string_view, not as std::string.
#define ANYMPS_RAW_NAME_IS_VIEW ANYMPS_TORCH_SINCE(2, 14)

// MetalShaderLibrary::exec_ternary_kernel takes a number beside three tensors.
#define ANYMPS_TERNARY_TAKES_ALPHA ANYMPS_TORCH_SINCE(2, 15)
