#include "superres/weights/weights.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <string_view>

#include "gpu/support/whole_file.h"
#include "superres/files/safetensors.h"
#include "superres/weights/torch_file.h"

namespace anymps::superres::weights {
namespace {

namespace fs = std::filesystem;

struct DtypeName {
  const char* name;
  at::ScalarType type;
};
constexpr std::array kDtypes = {DtypeName{"F32", at::kFloat}, DtypeName{"F64", at::kDouble},
                                DtypeName{"F16", at::kHalf},  DtypeName{"BF16", at::kBFloat16},
                                DtypeName{"I64", at::kLong},  DtypeName{"I32", at::kInt},
                                DtypeName{"U8", at::kByte},   DtypeName{"BOOL", at::kBool}};

at::ScalarType dtype_from(const std::string& name) {
  for (const DtypeName& dtype : kDtypes) {
    if (name == dtype.name) return dtype.type;
  }
  throw WeightsError(fmt::format("it has a tensor of the unknown type {}", name));
}

std::string dtype_name(at::ScalarType type) {
  for (const DtypeName& dtype : kDtypes) {
    if (type == dtype.type) return dtype.name;
  }
  throw WeightsError(fmt::format("tensors of type {} cannot be written", c10::toString(type)));
}

Weights from_safetensors(std::string_view bytes) {
  files::Safetensors file = files::parse_safetensors(bytes);
  Weights weights;
  weights.about = std::move(file.about);
  for (const files::SafetensorsEntry& entry : file.entries) {
    at::Tensor tensor = at::empty(entry.shape, dtype_from(entry.dtype));
    if (!entry.bytes.empty()) std::memcpy(tensor.mutable_data_ptr(), entry.bytes.data(), entry.bytes.size());
    weights.tensors.emplace_back(entry.name, std::move(tensor));
  }
  return weights;
}

std::string_view bytes_of(const at::Tensor& tensor) {
  return {static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()};
}

}  // namespace

at::Tensor Weights::find(const std::string& name) const {
  for (const auto& [own, tensor] : tensors) {
    if (own == name) return tensor;
  }
  return {};
}

Weights read_weights(const fs::path& path) {
  const std::optional<std::string> read = gpu::support::read_whole(path);
  if (!read) throw WeightsError(path.string() + ": it cannot be read");
  const std::string& bytes = *read;
  try {
    if (bytes.starts_with("\x80\x02")) {
      throw WeightsError("it is of torch.save before PyTorch 1.6: load and save it once with a newer one");
    }
    return bytes.starts_with("PK") ? from_torch_file(bytes) : from_safetensors(bytes);
  } catch (const WeightsError& error) {
    throw WeightsError(fmt::format("{}: {}", path.string(), error.what()));
  } catch (const files::SafetensorsError& error) {
    throw WeightsError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

void write_safetensors(const fs::path& path, const Weights& weights) {
  files::Safetensors file;
  file.about = weights.about;
  std::vector<at::Tensor> kept;  // what the entries point into
  std::size_t size = 0;
  for (const auto& [name, tensor] : weights.tensors) {
    const at::Tensor& own = kept.emplace_back(tensor.cpu().contiguous());
    file.entries.push_back({name, dtype_name(own.scalar_type()), own.sizes().vec(), bytes_of(own)});
    size += own.nbytes();
  }
  std::string bytes = files::safetensors_header(file);
  bytes.reserve(bytes.size() + size);
  for (const files::SafetensorsEntry& entry : file.entries) bytes += entry.bytes;
  gpu::support::write_whole(path, bytes);
}

void write_torch(const fs::path& path, const Weights& weights) {
  gpu::support::write_whole(path, to_torch_file(weights));
}

}  // namespace anymps::superres::weights
