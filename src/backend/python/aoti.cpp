#include "backend/python/aoti.h"

#include <torch/csrc/utils/pybind.h>

#include <string>
#include <unordered_map>

#include "backend/aoti/aoti_runner.h"

namespace anymps::backend::python {

void bind_aoti(py::module_& module) {
  using Tensors = std::unordered_map<std::string, at::Tensor>;
  py::class_<aoti::AotiRunner>(module, "AOTIModelContainerRunnerMps")
      .def(py::init<const std::string&, std::size_t>())
      .def("run", &aoti::AotiRunner::run, py::arg("inputs"), py::arg("stream_handle") = nullptr)
      .def("get_call_spec", &aoti::AotiRunner::get_call_spec)
      .def("get_constant_names_to_original_fqns", &aoti::AotiRunner::getConstantNamesToOriginalFQNs)
      .def("get_constant_names_to_dtypes", &aoti::AotiRunner::getConstantNamesToDtypes)
      .def("extract_constants_map", &aoti::AotiRunner::extract_constants_map)
      .def("update_constant_buffer",
           static_cast<void (aoti::AotiRunner::*)(Tensors&, bool, bool, bool)>(
               &aoti::AotiRunner::update_constant_buffer),
           py::arg("tensor_map"), py::arg("use_inactive"), py::arg("validate_full_updates"),
           py::arg("user_managed") = false)
      .def("update_constant_buffer_from_blob", &aoti::AotiRunner::update_constant_buffer_from_blob,
           py::arg("weights_path"))
      .def("swap_constant_buffer", &aoti::AotiRunner::swap_constant_buffer)
      .def("free_inactive_constant_buffer", &aoti::AotiRunner::free_inactive_constant_buffer);
}

}  // namespace anymps::backend::python
