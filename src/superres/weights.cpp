#include "superres/weights.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/serialize.h>

#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include "superres/whole_file.h"

namespace anymps::superres {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// safetensors refuses longer headers, too.
constexpr std::uint64_t kLongestHeader = 100'000'000;
constexpr const char* kAbout = "__metadata__";

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

at::Tensor tensor_at(const json& entry, std::string_view data) {
  const at::ScalarType type = dtype_from(entry.at("dtype").get<std::string>());
  const auto shape = entry.at("shape").get<std::vector<std::int64_t>>();
  const auto offsets = entry.at("data_offsets").get<std::array<std::uint64_t, 2>>();
  // Sizes are multiplied one by one, so that none can wrap around.
  std::uint64_t bytes = c10::elementSize(type);
  for (const std::int64_t size : shape) {
    if (size < 0 || (size > 0 && bytes > data.size() / static_cast<std::uint64_t>(size))) {
      throw WeightsError("a tensor's shape does not fit the file");
    }
    bytes *= static_cast<std::uint64_t>(size);
  }
  if (offsets[0] > offsets[1] || offsets[1] > data.size() || offsets[1] - offsets[0] != bytes) {
    throw WeightsError("a tensor lies outside the file: it is cut short or damaged");
  }
  at::Tensor tensor = at::empty(shape, type);
  if (bytes > 0) std::memcpy(tensor.mutable_data_ptr(), data.data() + offsets[0], bytes);
  return tensor;
}

Weights from_safetensors(std::string_view bytes) {
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof(length));
  if (length > kLongestHeader || length > bytes.size() - sizeof(length)) {
    throw WeightsError("it is cut short, or no file of weights");
  }
  const json header = json::parse(bytes.substr(sizeof(length), length), nullptr, false);
  if (!header.is_object()) throw WeightsError("its header is damaged");
  const std::string_view data = bytes.substr(sizeof(length) + length);
  Weights weights;
  try {
    for (const auto& [name, entry] : header.items()) {
      if (name == kAbout) {
        weights.about = entry.get<std::map<std::string, std::string>>();
      } else {
        weights.tensors.emplace_back(name, tensor_at(entry, data));
      }
    }
  } catch (const json::exception&) {
    throw WeightsError("its header is damaged");
  }
  return weights;
}

bool holds_tensors(const c10::IValue& value) {
  if (!value.isGenericDict()) return false;
  for (const auto& entry : value.toGenericDict()) {
    if (entry.value().isTensor()) return true;
  }
  return false;
}

// The dictionary of tensors in what torch.save wrote.
c10::IValue state_in(const c10::IValue& value) {
  if (holds_tensors(value)) return value;
  if (value.isGenericDict()) {
    for (const char* name : {"params_ema", "params", "state_dict", "model"}) {
      for (const auto& entry : value.toGenericDict()) {
        if (entry.key().isString() && entry.key().toStringRef() == name && holds_tensors(entry.value()))
          return entry.value();
      }
    }
  }
  throw WeightsError("it holds no dictionary of tensors");
}

Weights from_torch(const std::string& bytes) {
  c10::IValue value;
  try {
    value = torch::pickle_load(std::vector<char>(bytes.begin(), bytes.end()));
  } catch (const std::exception&) {
    throw WeightsError(
        "PyTorch's C++ side cannot read it: it is cut short, damaged, or no plain dictionary of tensors (torch.save of "
        "dict(model.state_dict()) is one; safetensors always works)");
  }
  Weights weights;
  for (const auto& entry : state_in(value).toGenericDict()) {
    if (!entry.key().isString() || !entry.value().isTensor()) continue;
    weights.tensors.emplace_back(entry.key().toStringRef(), entry.value().toTensor().detach().cpu().contiguous());
  }
  return weights;
}

}  // namespace

at::Tensor Weights::find(const std::string& name) const {
  for (const auto& [own, tensor] : tensors) {
    if (own == name) return tensor;
  }
  return {};
}

Weights read_weights(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw WeightsError(path.string() + ": it cannot be read");
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  try {
    if (bytes.size() < sizeof(std::uint64_t)) throw WeightsError("it is cut short, or no file of weights");
    return bytes.starts_with("PK") ? from_torch(bytes) : from_safetensors(bytes);
  } catch (const WeightsError& error) {
    throw WeightsError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

void write_safetensors(const fs::path& path, const Weights& weights) {
  nlohmann::ordered_json header;
  if (!weights.about.empty()) header[kAbout] = weights.about;
  std::uint64_t end = 0;
  for (const auto& [name, tensor] : weights.tensors) {
    const std::uint64_t begin = end;
    end += tensor.nbytes();
    header[name] = {
        {"dtype", dtype_name(tensor.scalar_type())}, {"shape", tensor.sizes().vec()}, {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // so that the tensors are aligned
  const std::uint64_t length = text.size();
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof(length));
  bytes += text;
  bytes.reserve(bytes.size() + end);
  for (const auto& [_, tensor] : weights.tensors) {
    const at::Tensor own = tensor.cpu().contiguous();
    bytes.append(static_cast<const char*>(own.const_data_ptr()), own.nbytes());
  }
  write_whole(path, bytes);
}

void write_torch(const fs::path& path, const Weights& weights) {
  c10::Dict<std::string, at::Tensor> state;
  for (const auto& [name, tensor] : weights.tensors) state.insert(name, tensor.cpu().contiguous());
  const std::vector<char> bytes = torch::pickle_save(state);
  write_whole(path, {bytes.data(), bytes.size()});
}

}  // namespace anymps::superres
