// The runner of AOTInductor's models in Python, as PyTorch's own module has it on a Mac.
#pragma once

#include <pybind11/pybind11.h>

namespace anymps::backend::python {

void bind_aoti(pybind11::module_& module);

}  // namespace anymps::backend::python
