#include "backend/python/shaders.h"

#include <ATen/native/mps/MetalShaderLibrary.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "backend/shaders/metal_capture.h"
#include "backend/shaders/metal_plugin.h"
#include "backend/shaders/passed_numbers.h"
#include "backend/shaders/precompiled_library.h"
#include "backend/shaders/shader_launch.h"

namespace anymps::backend::python {
namespace {

using at::native::mps::DynamicMetalShaderLibrary;
using at::native::mps::MetalKernelFunction;
using at::native::mps::PrecompiledMetalShaderLibrary;

// A kernel, with what it declares.
struct Kernel {
  std::shared_ptr<MetalKernelFunction> function;
  const metal::air::Signature* signature;  // lives as long as the function
};

void check_numbers(const Kernel& kernel, unsigned index, const shaders::PassedNumbers& passed) {
  const std::string wrong = shaders::mismatch(*kernel.signature, index, passed);
  if (wrong.empty()) return;
  TORCH_CHECK_TYPE(!shaders::validation_is_on(), wrong);
  // Under the interpreter's lock.
  static std::set<std::pair<std::string, unsigned>> told;
  if (told.emplace(kernel.signature->kernel, index).second && PyErr_WarnEx(PyExc_UserWarning, wrong.c_str(), 1) != 0) {
    throw py::error_already_set();
  }
}

template <typename T>
constexpr shaders::PassedNumbers as_passed(std::size_t count) {
  if constexpr (std::is_same_v<T, c10::BFloat16>) return {shaders::NumberKind::kBfloat, sizeof(T), count};
  if constexpr (std::is_integral_v<T>) return {shaders::NumberKind::kInteger, sizeof(T), count};
  return {shaders::NumberKind::kFloat, sizeof(T), count};
}

template <typename T>
void set_numbers(const Kernel& kernel, unsigned index, const std::vector<T>& values) {
  check_numbers(kernel, index, as_passed<T>(values.size()));
  kernel.function->setArg(index, values);
}

// As which type numbers are passed: one for all, or by the argument's index.
class Casts {
 public:
  explicit Casts(const py::object& given) {
    if (given.is_none()) return;
    if (py::isinstance<py::str>(given)) {
      all_ = given.cast<std::string>();
    } else if (py::isinstance<py::dict>(given)) {
      by_index_ = given.cast<std::map<unsigned, std::string>>();
    } else {
      TORCH_CHECK(false, "Unexpected caster arg type ",
                  given.attr("__class__").attr("__name__").cast<const std::string>());
    }
  }

  template <typename T>
  void set(const Kernel& kernel, unsigned index, const std::vector<T>& values) const {
    const auto found = by_index_.find(index);
    const std::string& type = found != by_index_.end() ? found->second : all_;
    if (type.empty()) return set_numbers(kernel, index, values);
    if (type == "fp16") return set_as<c10::Half>(kernel, index, values);
    if (type == "bf16") return set_as<c10::BFloat16>(kernel, index, values);
    if (type == "int32") return set_as<std::int32_t>(kernel, index, values);
    if (type == "int16") return set_as<std::int16_t>(kernel, index, values);
    if (type == "int8") return set_as<std::int8_t>(kernel, index, values);
    if (type == "uint8") return set_as<std::uint8_t>(kernel, index, values);
    TORCH_CHECK(false, "Unsupported cast instruction ", all_);
  }

 private:
  template <typename To, typename From>
  static void set_as(const Kernel& kernel, unsigned index, const std::vector<From>& values) {
    std::vector<To> cast;
    for (const From value : values) cast.push_back(static_cast<To>(value));
    set_numbers(kernel, index, cast);
  }

  std::string all_;
  std::map<unsigned, std::string> by_index_;
};

void set_sequence(const Kernel& kernel, unsigned index, const py::sequence& values, const Casts& casts) {
  TORCH_CHECK(!values.empty(), "Empty list/tuple can not be an argument to metal kernel");
  const py::object first = values[0];
  if (py::isinstance<py::int_>(first)) {
    casts.set(kernel, index, values.cast<std::vector<std::int64_t>>());
  } else if (py::isinstance<py::float_>(first)) {
    casts.set(kernel, index, values.cast<std::vector<float>>());
  } else if (THPVariable_Check(first.ptr())) {
    std::vector<void*> addresses;
    for (const at::Tensor& tensor : values.cast<std::vector<at::Tensor>>()) {
      addresses.push_back(at::native::mps::get_tensor_gpu_address(tensor));
    }
    kernel.function->setArg(index, addresses);
  } else {
    TORCH_CHECK(false, "Unexpected argument types");
  }
}

void set_argument(const Kernel& kernel, unsigned index, const py::object& value, const Casts& casts) {
  if (py::isinstance<py::tuple>(value) || py::isinstance<py::list>(value)) {
    set_sequence(kernel, index, py::reinterpret_borrow<py::sequence>(value), casts);
  } else if (py::isinstance<py::float_>(value)) {
    casts.set(kernel, index, std::vector{value.cast<float>()});
  } else if (py::isinstance<py::int_>(value)) {
    casts.set(kernel, index, std::vector{value.cast<std::int64_t>()});
  } else {
    TORCH_CHECK(false, "Unsupported argument type");
  }
}

std::optional<std::vector<std::uint64_t>> sizes_from(const py::object& value) {
  if (value.is_none()) return std::nullopt;
  if (py::isinstance<py::int_>(value)) return std::vector{value.cast<std::uint64_t>()};
  return value.cast<std::vector<std::uint64_t>>();
}

// Ctrl-C ends a launch: then the exception is Python's, with the launch's words where its handler gave none.
void throw_if_interrupted(const char* words) {
  if (PyErr_CheckSignals() == 0) return;
  py::error_already_set raised;
  if (raised.matches(PyExc_KeyboardInterrupt) && py::str(raised.value()).cast<std::string>().empty()) {
    PyErr_SetString(PyExc_KeyboardInterrupt, words);
    throw py::error_already_set();
  }
  throw raised;
}

void call(const Kernel& called, const py::args& arguments, const py::object& given_threads,
          const py::object& given_group, const py::object& given_casts, const py::object& error_index) {
  auto threads = sizes_from(given_threads);
  const auto group = sizes_from(given_group);
  const Casts casts(given_casts);
  MetalKernelFunction& kernel = *called.function;
  kernel.startEncoding();
  for (unsigned i = 0; i < arguments.size(); ++i) {
    const py::object argument = arguments[i];
    if (!THPVariable_Check(argument.ptr())) {
      set_argument(called, i, argument, casts);
      continue;
    }
    const at::Tensor& tensor = THPVariable_Unpack(argument.ptr());
    kernel.setArg(i, tensor);
    // As many threads as the first tensor has elements, unless the caller says otherwise.
    if (!threads) threads = {static_cast<std::uint64_t>(tensor.numel())};
  }
  if (!error_index.is_none()) kernel.setErrorBufferIndex(error_index.cast<unsigned>());
  TORCH_CHECK(threads && threads->size() < 4, "Number of threads is undefined or has wrong dimension");
  TORCH_CHECK(!group || threads->size() == group->size());
  try {
    const py::gil_scoped_release no_gil;
    if (threads->size() == 1) {
      kernel.dispatch(threads->front(), group ? std::optional(group->front()) : std::nullopt);
    } else {
      kernel.dispatch(*threads, group ? c10::OptionalArrayRef<std::uint64_t>(*group) : std::nullopt);
    }
  } catch (const c10::Error& error) {
    throw_if_interrupted(error.what_without_backtrace());
    throw;
  }
}

template <typename Library>
void bind_library(py::module_& module, const char* name) {
  py::class_<Library, std::shared_ptr<Library>>(module, name)
      .def("__getattr__",
           [](Library& self, const std::string& kernel) {
             return Kernel{self.getKernelFunction(kernel),
                           &shaders::signature_of(self.getPipelineStateForFunc(kernel))};
           })
      .def("__dir__", [](Library& self) { return self.getFunctionNames(); });
}

py::tuple as_tuple(const std::array<std::uint32_t, 3>& position) {
  return py::make_tuple(position[0], position[1], position[2]);
}

py::list take_validation_reports() {
  py::list reports;
  for (const metal::pipeline::ValidationReport& report : shaders::metal_plugin().take_validation_reports()) {
    py::dict entry;
    entry["fault"] = metal::pipeline::name_of(report.fault);
    entry["kernel"] = report.kernel;
    entry["access"] = report.access;
    entry["argument"] = report.argument.empty() ? py::object(py::none()) : py::str(report.argument);
    entry["binding"] = report.binding < 0 ? py::object(py::none()) : py::int_(report.binding);
    entry["thread"] = as_tuple(report.thread);
    entry["threadgroup"] = as_tuple(report.threadgroup);
    entry["offset"] = report.offset;
    entry["size"] = report.size;
    entry["site"] = report.site;
    entry["place"] = report.place.empty() ? py::object(py::none()) : py::str(report.place);
    entry["count"] = report.count;
    entry["text"] = report.text;
    reports.append(std::move(entry));
  }
  return reports;
}

}  // namespace

void bind_shaders(py::module_& module) {
  bind_library<DynamicMetalShaderLibrary>(module, "_mps_ShaderLibrary");
  bind_library<PrecompiledMetalShaderLibrary>(module, "_mps_PrecompiledShaderLibrary");
  py::class_<Kernel>(module, "_mps_MetalKernel")
      .def("__call__", &call, py::kw_only(), py::arg("threads") = py::none(), py::arg("group_size") = py::none(),
           py::arg("arg_casts") = py::none(), py::arg("error_buf_idx") = py::none())
      .def_property_readonly("max_threads_per_threadgroup",
                             [](const Kernel& self) { return self.function->getMaxThreadsPerThreadgroup(); })
      .def_property_readonly("thread_execution_width",
                             [](const Kernel& self) { return self.function->getThreadExecutionWidth(); })
      .def_property_readonly("static_thread_group_memory_length",
                             [](const Kernel& self) { return self.function->getStaticThreadGroupMemoryLength(); });
  module.def("_mps_loadMetalllib", [](const py::bytes& data) {
    const auto view = static_cast<std::string_view>(data);
    return std::make_shared<PrecompiledMetalShaderLibrary>(std::vector<std::uint8_t>(view.begin(), view.end()));
  });
  module.def("_mps_loadMetallibFromPath",
             [](const std::string& path) { return std::make_shared<PrecompiledMetalShaderLibrary>(path); });
  module.def("take_validation_reports", &take_validation_reports);
  module.def("validate_launches", &shaders::validate_launches);
  module.def("_mps_isCaptureEnabled", &shaders::capture_is_enabled);
  module.def("_mps_isCapturing", &shaders::is_capturing);
  module.def("_mps_startCapture", &shaders::start_capture);
  module.def("_mps_stopCapture", &shaders::stop_capture, py::call_guard<py::gil_scoped_release>());
  module.def("_mps_compileShader",
             [](const std::string& source) { return std::make_shared<DynamicMetalShaderLibrary>(source); });
}

}  // namespace anymps::backend::python
