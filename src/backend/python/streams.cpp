#include "backend/python/streams.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/Stream.h>
#include <torch/csrc/utils/pybind.h>

#include "backend/observe/synchronize.h"
#include "backend/release/release_in_force.h"
#include "backend/runtime/streams.h"
#include "gpu/stream.h"

namespace anymps::backend::python {
namespace {

// The class is torch.Stream's, which has the members; a stream of ours is its number.
PyTypeObject stream_type = [] {
  PyTypeObject type{};
  type.ob_base = PyVarObject{PyObject_HEAD_INIT(nullptr) 0};
  type.tp_name = "torch._C._MPSStreamBase";
  return type;
}();

PyObject* new_stream(PyTypeObject* type, gpu::StreamId id) {
  PyObject* object = type->tp_alloc(type, 0);
  if (object == nullptr) return nullptr;
  const c10::Stream stream = runtime::as_stream(id);
  auto* fields = reinterpret_cast<THPStream*>(object);
  fields->stream_id = stream.id();
  fields->device_index = static_cast<unsigned char>(stream.device_index());  // never negative
  fields->device_type = static_cast<std::int64_t>(stream.device_type());
  return object;
}

// PyTorch 2.14 has the class for its own tests, and a new stream from the pool is all that it makes.
PyObject* stream_new(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  HANDLE_TH_ERRORS
  char stream_id[] = "stream_id";
  char* named[] = {runtime::has_stream_pool() ? stream_id : nullptr, nullptr};
  long long id = -1;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, runtime::has_stream_pool() ? "|L" : "", named, &id)) {
    return nullptr;
  }
  return new_stream(type, id == -1 ? gpu::stream_from_pool() : runtime::known_stream(id));
  END_HANDLE_TH_ERRORS
}

PyObject* stream_synchronize(PyObject* self, PyObject*) {
  HANDLE_TH_ERRORS {
    const gpu::StreamId stream = reinterpret_cast<THPStream*>(self)->stream_id;
    py::gil_scoped_release no_gil;
    observe::synchronize("stream synchronize", stream);
  }
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

PyMethodDef stream_methods[] = {{"synchronize", stream_synchronize, METH_NOARGS, nullptr}, {}};

void set_stream(py::handle stream) {
  if (stream.is_none()) {
    gpu::set_current_stream(gpu::kDefaultStream);
    return;
  }
  TORCH_CHECK(py::isinstance(stream, reinterpret_cast<PyObject*>(&stream_type)),
              "invalid stream argument to setStream");
  gpu::set_current_stream(reinterpret_cast<THPStream*>(stream.ptr())->stream_id);
}

py::object get_current_stream() {
  return py::reinterpret_steal<py::object>(new_stream(&stream_type, gpu::current_stream()));
}

}  // namespace

void bind_streams(py::module_& module) {
  module.def("in_force_since", &release::in_force_since);
  stream_type.tp_base =
      reinterpret_cast<PyTypeObject*>(py::module_::import("torch").attr("Stream").cast<py::object>().release().ptr());
  stream_type.tp_basicsize = sizeof(THPStream);
  stream_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
  stream_type.tp_methods = stream_methods;
  stream_type.tp_new = stream_new;
  if (PyType_Ready(&stream_type) < 0) throw py::error_already_set();
  module.attr("_MPSStreamBase") = py::handle(reinterpret_cast<PyObject*>(&stream_type));
  module.def("_mps_setStream", &set_stream);
  module.def("_mps_getCurrentStream", &get_current_stream);
}

}  // namespace anymps::backend::python
