// Where the interpreter is: the finder behind call_site.h.
#pragma once

#include <pybind11/pybind11.h>

namespace anymps::backend::python {

// Makes this the finder, and adds to the module what Python tells it: whose folders are not the user's.
void bind_call_site(pybind11::module& m);

}  // namespace anymps::backend::python
