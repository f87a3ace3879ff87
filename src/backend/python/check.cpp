#include "backend/python/check.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/utils/pybind.h>

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "backend/dispatch/alias.h"
#include "backend/observe/check.h"
#include "backend/observe/check_copies.h"
#include "backend/observe/check_races.h"
#include "backend/observe/check_watch.h"
#include "backend/runtime/waits.h"

namespace anymps::backend::python {
namespace {

bool is_finite(const at::Tensor& tensor) {
  dispatch::AliasCall alias;
  runtime::RouteScope route;
  const at::NoGradGuard no_grad;
  const at::Tensor values = alias.to_cpu(tensor);
  // One pass that makes no tensor. A sum may overflow where no value does, so a bad one is looked at closely.
  return std::isfinite(values.sum().to(at::kDouble).item<double>()) || values.isfinite().all().item<bool>();
}

// The first tensor that has a NaN or an infinity.
std::optional<std::size_t> first_nonfinite(const std::vector<at::Tensor>& tensors) {
  py::gil_scoped_release no_gil;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const at::Tensor& tensor = tensors[i];
    if (tensor.is_mps() && tensor.layout() == c10::kStrided && tensor.is_floating_point() && !is_finite(tensor)) {
      return i;
    }
  }
  return std::nullopt;
}

bool is_all_zero(const at::Tensor& tensor) {
  py::gil_scoped_release no_gil;
  dispatch::AliasCall alias;
  runtime::RouteScope route;
  const at::NoGradGuard no_grad;
  return !alias.to_cpu(tensor).any().item<bool>();
}

// Kept for the life of the process: it is asked until the interpreter ends.
py::object& expectation() {
  static auto* const function = new py::object;
  return *function;
}

bool python_expects(const char* error_class) {
  if (Py_IsInitialized() == 0) return false;
  py::gil_scoped_acquire gil;
  // The thread for gradients runs no Python: nobody catches anything there.
  if (!expectation() || PyEval_GetFrame() == nullptr) return false;
  return expectation()(error_class).cast<bool>();
}

}  // namespace

void bind_check(py::module& m) {
  m.def("checking", &observe::checking);
  m.def("watch_calls", &observe::watch_calls);
  m.def("note_finding", &observe::note_finding, py::arg("rule"), py::arg("subject") = "", py::arg("quantity") = 0);
  m.def("note_finding_at", &observe::note_finding_at, py::arg("site"), py::arg("rule"), py::arg("subject") = "",
        py::arg("quantity") = 0);
  m.def("set_expectation", [](py::object function) {
    expectation() = std::move(function);
    observe::set_expectation(&python_expects);
  });
  m.def("note_host_read", &observe::note_host_read);
  m.def("allow_rules", &observe::allow_rules);
  m.def("begin_printing", [] { runtime::begin_one_wait("print"); });
  m.def("begin_inevitable_waits", [] { runtime::begin_one_wait(nullptr); });
  m.def("end_one_wait", &runtime::end_one_wait);
  m.def("begin_unchecked_copies", &observe::begin_unchecked_copies);
  m.def("end_unchecked_copies", &observe::end_unchecked_copies);
  m.def("first_nonfinite", &first_nonfinite);
  m.def("is_all_zero", &is_all_zero);
}

}  // namespace anymps::backend::python
