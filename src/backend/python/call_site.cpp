#include "backend/python/call_site.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/runtime/call_site.h"

namespace py = pybind11;

namespace anymps::backend::python {
namespace {

// Folders whose frames are not the user's, each with a slash at its end, and files.
std::vector<std::string>& package_folders() {
  static auto* const folders = new std::vector<std::string>;
  return *folders;
}

bool is_users(std::string_view file) {
  if (file.starts_with("<")) return false;
  return std::ranges::none_of(package_folders(), [&](const std::string& folder) {
    // Installed packages may lie below the standard library's folder, and are none of it.
    return file.starts_with(folder) && file.find("-packages/", folder.size()) == std::string_view::npos;
  });
}

bool is_finalizing() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

// The frames outside of torch, of anymps and of Python's own library, innermost first: the lines that a user can
// change. Where there is none, the outermost of all.
std::vector<std::string> python_call_sites(std::size_t most) {
  std::vector<std::string> sites;
  if (Py_IsInitialized() == 0 || is_finalizing()) return sites;
  // PyTorch lets go of the GIL around operators that wait, which are the ones that are asked about.
  py::gil_scoped_acquire gil;
  py::object frame = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  std::string outermost;
  while (frame && sites.size() < most) {
    auto* const raw = reinterpret_cast<PyFrameObject*>(frame.ptr());
    const auto code = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetCode(raw)));
    const char* file = PyUnicode_AsUTF8(reinterpret_cast<PyCodeObject*>(code.ptr())->co_filename);
    if (file != nullptr) {
      std::string site = std::string(file) + ":" + std::to_string(PyFrame_GetLineNumber(raw));
      (is_users(file) ? sites.emplace_back() : outermost) = std::move(site);
    } else {
      PyErr_Clear();
    }
    frame = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetBack(raw)));
  }
  if (sites.empty() && !outermost.empty()) sites.push_back(std::move(outermost));
  return sites;
}

}  // namespace

void bind_call_site(py::module& m) {
  runtime::set_call_site_finder(&python_call_sites);
  m.def("call_site", &runtime::call_site);
  m.def("remember_backward_site", &runtime::remember_backward_site);
  m.def("set_package_folders", [](std::vector<std::string> folders) { package_folders() = std::move(folders); });
}

}  // namespace anymps::backend::python
