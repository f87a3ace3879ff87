// The memory's figures and history for Python.
#pragma once

#include <torch/csrc/utils/pybind.h>

namespace anymps::backend::python {

void bind_memory(py::module& m);

}  // namespace anymps::backend::python
