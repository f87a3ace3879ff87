// What torch.mps.Stream is made of, as PyTorch's own module has it on a Mac: _MPSStreamBase, _mps_setStream and
// _mps_getCurrentStream.
#pragma once

#include <pybind11/pybind11.h>

namespace anymps::backend::python {

void bind_streams(pybind11::module_& module);

}  // namespace anymps::backend::python
