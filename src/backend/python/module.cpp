// anymps._C: what Python needs of the library beyond PyTorch's own bindings.
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <torch/csrc/DynamicTypes.h>
#include <torch/csrc/Storage.h>
#include <torch/csrc/utils/pybind.h>

#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "backend/dispatch/alias.h"
#include "backend/observe/details.h"
#include "backend/observe/profile_log.h"
#include "backend/python/aoti.h"
#include "backend/python/call_site.h"
#include "backend/python/check.h"
#include "backend/python/memory.h"
#include "backend/python/shaders.h"
#include "backend/python/streams.h"
#include "backend/registration.h"
#include "backend/runtime/device_queue.h"
#include "backend/runtime/mps_log.h"
#include "gpu/device.h"
#include "gpu/memory/unified_memory.h"
#include "gpu/trace/trace.h"

namespace anymps::backend::python {
namespace {

bool is_in_heap(const at::Tensor& tensor) {
  return tensor.is_mps() && tensor.has_storage() && runtime::in_heap(tensor.storage().data());
}

c10::Storage host_alias_storage(py::handle object) {
  TORCH_CHECK_TYPE(torch::isStorage(object.ptr()), "_mps_host_alias_storage: expected an UntypedStorage, got ",
                   py::str(py::type::of(object).attr("__name__")).cast<std::string>());
  const c10::Storage storage = torch::createStorage(object.ptr());
  TORCH_CHECK_VALUE(storage.device_type() == c10::DeviceType::MPS,
                    "getHostAliasStorage: expected an MPS storage, got device=", storage.device());
  TORCH_CHECK(storage.data() == nullptr || runtime::in_heap(storage.data()),
              "getHostAliasStorage: storage was not allocated by the MPSAllocator");
  at::Tensor bytes = at::empty({0}, at::TensorOptions(at::kByte).device(runtime::kMpsDevice));
  bytes.set_(storage);
  return dispatch::owning_cpu_alias(bytes).storage();
}

c10::Storage new_storage(std::size_t bytes) {
  return c10::Storage(c10::Storage::use_byte_size_t(), bytes, runtime::mps_allocator(), /*resizable=*/true);
}

void record(std::uint32_t kind, const std::string& name, const std::string& site, std::uint64_t a, std::uint64_t b) {
  if (auto* trace = gpu::trace::Trace::current()) {
    const gpu::memory::UnifiedMemory* memory = gpu::memory::UnifiedMemory::if_made();
    const std::uint64_t in_tensors = memory != nullptr ? memory->ledger().allocated_bytes() : 0;
    trace->record(static_cast<gpu::trace::TraceKind>(kind), trace->intern(name), trace->intern(site), a, b, in_tensors);
  }
}

// PyTorch's autograd thread for the device drops the last reference to a finished graph after backward() has returned,
// and takes the GIL for it. If the interpreter is being finalised by then, CPython ends the thread inside a destructor
// and the process aborts. A graph of our own, run through the same thread from one that holds no Python state, is done
// only after that thread has let go of everything before it.
void drain_autograd_thread() {
  const gpu::memory::UnifiedMemory* made = gpu::memory::UnifiedMemory::if_made();
  if (made == nullptr || made->heap().usage().allocations == 0) return;
  py::gil_scoped_release no_gil;
  std::thread([] {
    try {
      at::AutoGradMode with_grad(true);
      at::Tensor leaf = at::ones({1}, at::TensorOptions(at::kFloat).device(runtime::kMpsDevice)).requires_grad_();
      c10::AutogradState::get_tls_state().set_multithreading_enabled(true);  // through that thread, not on this one
      leaf.mul(1).backward();
    } catch (const std::exception&) {
      // The process is ending: whatever happened, there is nobody to tell.
    }
  }).join();
}

void set_fact(const std::string& key, const std::string& value) {
  if (auto* trace = gpu::trace::Trace::current()) trace->set_fact(key, value);
}

}  // namespace
}  // namespace anymps::backend::python

PYBIND11_MODULE(_C, m) {
  namespace ab = anymps::backend;
  ab::register_device();
  m.def("in_heap", &ab::python::is_in_heap);
  m.def("host_alias_storage", &ab::python::host_alias_storage);
  m.def("new_storage", &ab::python::new_storage);
  m.def("device_problem", &anymps::gpu::device_problem);
  m.def("device_name", [] { return anymps::gpu::device_facts().name; });
  m.def("core_count", [] { return anymps::gpu::device_facts().core_count; });
  m.def("memory_bytes", [] { return anymps::gpu::device_facts().memory; });
  m.def("macos_version", [] {
    const auto& facts = anymps::gpu::device_facts();
    return std::to_string(facts.macos_major) + "." + std::to_string(facts.macos_minor);
  });
  m.def("trace_enabled", [] { return anymps::gpu::trace::Trace::current() != nullptr; });
  m.def("trace_record", &ab::python::record);
  m.def("trace_fact", &ab::python::set_fact);
  m.def("trace_calls", &ab::observe::trace_calls);
  m.def("drain_autograd_thread", &ab::python::drain_autograd_thread);
  m.def("queued_commands", &ab::runtime::DeviceQueue::encoded);
  m.def("set_log_level", &ab::runtime::set_log_level);
  m.def("begin_profile_log", &ab::observe::begin_profile_log);
  m.def("end_profile_log", &ab::observe::end_profile_log);
  ab::python::bind_call_site(m);
  ab::python::bind_check(m);
  ab::python::bind_shaders(m);
  ab::python::bind_aoti(m);
  ab::python::bind_memory(m);
  ab::python::bind_streams(m);
}
