"""Metal kernels, the same work in C++ and in OpenCL C, and what bench/fast_kernels.py needs to run them."""
