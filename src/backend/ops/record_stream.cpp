// record_stream, which PyTorch has for MPS from 2.15 on: the tensor's buffer is in use on another stream, too.
#include <ATen/ATen.h>
#include <torch/library.h>

#include "backend/ops/registration.h"
#include "backend/runtime/memory.h"
#include "backend/runtime/streams.h"

namespace anymps::backend::ops {
namespace {

void record_stream(at::Tensor& self, c10::Stream stream) {
  runtime::mps_allocator()->recordStream(self.storage().data_ptr(), stream);
}

}  // namespace

void register_record_stream(torch::Library& m) {
  if (runtime::has_stream_pool()) m.impl("record_stream", record_stream);
}

}  // namespace anymps::backend::ops
