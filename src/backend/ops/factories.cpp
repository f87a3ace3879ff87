// Tensors from nothing, and tensors given other storage: empty, empty_strided, resize_, set_.
#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/native/Resize.h>
#include <ATen/native/TensorFactories.h>
#include <torch/library.h>

#include <cstring>

#include "backend/dispatch/refusal.h"
#include "backend/ops/registration.h"
#include "backend/runtime/device_queue.h"
#include "backend/runtime/memory.h"

namespace anymps::backend::ops {
namespace {

using OptionalDtype = std::optional<at::ScalarType>;
using OptionalLayout = std::optional<at::Layout>;
using OptionalDevice = std::optional<at::Device>;

constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::MPS);

void fill_if_deterministic(at::Tensor& tensor) {
  const at::Context& context = at::globalContext();
  if (context.deterministicAlgorithms() && context.deterministicFillUninitializedMemory()) {
    at::native::fill_empty_deterministic_(tensor);
  }
}

at::Tensor empty(at::IntArrayRef size, OptionalDtype dtype, OptionalLayout layout, OptionalDevice, std::optional<bool>,
                 std::optional<at::MemoryFormat> format) {
  dispatch::refuse_missing_device();
  TORCH_CHECK_NOT_IMPLEMENTED(c10::layout_or_default(layout) == at::kStrided,
                              "only strided tensors are supported on MPS");
  dispatch::refuse_many_dimensions(size);
  const at::ScalarType type = c10::dtype_or_default(dtype);
  dispatch::refuse_float64(type);
  at::Tensor result = at::detail::empty_generic(size, runtime::mps_allocator(), kKeys, type, format);
  fill_if_deterministic(result);
  return result;
}

at::Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef stride, OptionalDtype dtype, OptionalLayout,
                         OptionalDevice, std::optional<bool>) {
  dispatch::refuse_missing_device();
  const at::ScalarType type = c10::dtype_or_default(dtype);
  dispatch::refuse_float64(type);
  at::Tensor result = at::detail::empty_strided_generic(size, stride, runtime::mps_allocator(), kKeys, type);
  fill_if_deterministic(result);
  return result;
}

void grow(c10::StorageImpl* storage, std::size_t bytes) {
  TORCH_CHECK(storage->resizable(), "Trying to resize storage that is not resizable");
  c10::DataPtr fresh = runtime::mps_allocator()->allocate(bytes);
  const std::size_t kept = std::min(bytes, storage->nbytes());
  runtime::DeviceQueue::drain();
  if (kept != 0 && storage->data() != nullptr) std::memcpy(fresh.get(), storage->data(), kept);
  storage->set_data_ptr_noswap(std::move(fresh));
  storage->set_nbytes(bytes);
}

void make_room(c10::TensorImpl* impl) {
  const std::size_t needed = at::detail::computeStorageNbytes(impl->sizes(), impl->strides(), impl->itemsize(),
                                                              static_cast<std::size_t>(impl->storage_offset()));
  if (impl->numel() == 0) return;
  c10::StorageImpl* storage = impl->unsafe_storage().unsafeGetStorageImpl();
  TORCH_CHECK(storage != nullptr, "Tensor: invalid null storage");
  if (needed > storage->nbytes()) grow(storage, needed);
}

const at::Tensor& resize_(const at::Tensor& self, at::IntArrayRef size, std::optional<at::MemoryFormat> format) {
  c10::TensorImpl* impl = self.unsafeGetTensorImpl();
  const std::size_t old_bytes = impl->unsafe_storage() ? impl->unsafe_storage().nbytes() : 0;
  if (self.sizes() != size) {
    impl->set_sizes_contiguous(size);
    make_room(impl);
  }
  if (format) {
    TORCH_CHECK(*format != at::MemoryFormat::Preserve, "Unsupported memory format", *format);
    impl->empty_tensor_restride(*format);
  }
  const at::Context& context = at::globalContext();
  if (context.deterministicAlgorithms() && context.deterministicFillUninitializedMemory()) {
    at::native::fill_resize_deterministic_(self, static_cast<std::int64_t>(old_bytes));
  }
  return self;
}

at::Tensor& set_from_storage(at::Tensor& self, at::Storage storage, std::int64_t offset, at::IntArrayRef size,
                             at::IntArrayRef stride) {
  at::native::checkSetStorage(self, storage, offset, size, stride);
  c10::TensorImpl* impl = self.unsafeGetTensorImpl();
  impl->set_storage_offset(offset);
  if (stride.data() != nullptr) {
    impl->set_sizes_and_strides(size, stride, offset);
  } else {
    impl->set_sizes_contiguous(size);
  }
  make_room(impl);
  return self;
}

at::Tensor& set_whole_storage(at::Tensor& self, at::Storage storage) {
  const auto count = static_cast<std::int64_t>(storage.nbytes() / self.itemsize());
  return set_from_storage(self, std::move(storage), 0, {count}, {});
}

at::Tensor& set_from_tensor(at::Tensor& self, const at::Tensor& source) {
  if (self.is_same(source)) return self;
  return set_from_storage(self, source.storage(), source.storage_offset(), source.sizes(), source.strides());
}

at::Tensor& set_empty(at::Tensor& self) {
  c10::Storage storage(c10::Storage::use_byte_size_t(), 0, runtime::mps_allocator(), /*resizable=*/true);
  return set_from_storage(self, std::move(storage), 0, {0}, {});
}

}  // namespace

void register_factories(torch::Library& m) {
  m.impl("empty.memory_format", empty);
  m.impl("empty_strided", empty_strided);
  m.impl("resize_", resize_);
  m.impl("set_.source_Storage_storage_offset", set_from_storage);
  m.impl("set_.source_Storage", set_whole_storage);
  m.impl("set_.source_Tensor", set_from_tensor);
  m.impl("set_", set_empty);
}

}  // namespace anymps::backend::ops
