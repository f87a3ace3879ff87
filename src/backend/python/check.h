// What Python's side of a check (anymps/_check) asks of the library.
#pragma once

#include <pybind11/pybind11.h>

namespace anymps::backend::python {

void bind_check(pybind11::module& m);

}  // namespace anymps::backend::python
