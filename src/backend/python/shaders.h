// Metal libraries and kernels in Python, as PyTorch's own module has them on a Mac.
#pragma once

#include <pybind11/pybind11.h>

namespace anymps::backend::python {

void bind_shaders(pybind11::module_& module);

}  // namespace anymps::backend::python
