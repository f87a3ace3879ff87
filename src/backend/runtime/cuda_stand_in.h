// PyTorch allows one accelerator a process, and takes a CUDA build for one even on a machine without a GPU.
#pragma once

namespace anymps::backend::runtime {

// In a CUDA build without a GPU (or with ANYMPS=1, which says that mps is wanted all the same) makes PyTorch see a
// build without CUDA, so that mps can be the accelerator. Autograd asks for that: it runs devices that are not the
// accelerator only forwards. Does nothing in other builds.
void stand_in_for_cuda();

}  // namespace anymps::backend::runtime
