#include "superres/weights/torch_file.h"

#include <ATen/ATen.h>
#include <caffe2/serialize/in_memory_adapter.h>
#include <caffe2/serialize/inline_container.h>
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string_view>

#include "superres/files/pickle.h"
#include "superres/files/unfolding.h"
#include "superres/files/zip_sizes.h"

namespace anymps::superres::weights {
namespace {

using Kind = files::PickleValue::Kind;

// What a byte of the pickle that names the tensors may become: a value of a hundred bytes.
constexpr std::uint64_t kBytesOfValue = 128;

struct StorageName {
  std::string_view name;
  at::ScalarType type;
};
constexpr std::array kStorages = {
    StorageName{"torch.FloatStorage", at::kFloat}, StorageName{"torch.DoubleStorage", at::kDouble},
    StorageName{"torch.HalfStorage", at::kHalf},   StorageName{"torch.BFloat16Storage", at::kBFloat16},
    StorageName{"torch.LongStorage", at::kLong},   StorageName{"torch.IntStorage", at::kInt},
    StorageName{"torch.ByteStorage", at::kByte},   StorageName{"torch.BoolStorage", at::kBool}};

at::ScalarType storage_type(const std::string& name) {
  for (const StorageName& storage : kStorages) {
    if (name == storage.name) return storage.type;
  }
  throw WeightsError(fmt::format("it has a tensor of {}, which no network here has", name));
}

[[noreturn]] void throw_unfolding() {
  throw WeightsError("it unfolds to far more than the file has (ANYMPS_SR_MOST_BYTES raises the bound)");
}

[[noreturn]] void throw_damaged() { throw WeightsError("one of its tensors is damaged"); }

const files::PickleValue& item(const files::PickleValue& value, std::size_t index, Kind kind) {
  if (index >= value.items.size() || !value.items[index]->is(kind)) throw_damaged();
  return *value.items[index];
}

bool is_call(const files::PickleValue& value, std::string_view function) {
  return value.is(Kind::kCall) && value.items.size() == 2 && value.items[0]->text == function;
}

std::vector<std::int64_t> numbers(const files::PickleValue& list) {
  std::vector<std::int64_t> made;
  for (std::size_t i = 0; i < list.items.size(); ++i) made.push_back(item(list, i, Kind::kInteger).integer);
  return made;
}

// How many elements a tensor reaches over; sizes are multiplied with care, for they come from a file.
std::int64_t extent(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides) {
  std::int64_t last = 0;
  bool is_empty = false;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::int64_t step = 0;
    if (sizes[i] < 0 || strides[i] < 0) throw_damaged();
    if (sizes[i] == 0) is_empty = true;
    if (sizes[i] > 0 && (__builtin_mul_overflow(sizes[i] - 1, strides[i], &step) ||
                         __builtin_add_overflow(last, step, &last) || last == INT64_MAX)) {
      throw_damaged();
    }
  }
  return is_empty ? 0 : last + 1;
}

class Archive {
 public:
  explicit Archive(const std::string& bytes)
      : reader_(std::make_shared<caffe2::serialize::MemoryReadAdapter>(bytes.data(),
                                                                       static_cast<std::int64_t>(bytes.size()))),
        left_(files::most_bytes_of_weights(bytes.size())) {}

  // `becomes`: how many bytes one of the record's is going to take.
  std::string record(const std::string& name, std::uint64_t becomes = 1) {
    take(reader_.getRecordSize(name), becomes);
    const auto [data, size] = reader_.getRecord(name);
    return {static_cast<const char*>(data.get()), size};
  }
  bool has(const std::string& name) { return reader_.hasRecord(name); }

  // Of a call of torch._utils._rebuild_tensor_v2 (storage, offset, sizes, strides, ...), or of one that makes a
  // parameter of it; otherwise nothing.
  std::optional<at::Tensor> tensor(const files::PickleValue& value) {
    const files::PickleValue* call = &value;
    if (is_call(*call, "torch._utils._rebuild_parameter")) call = &item(item(*call, 1, Kind::kList), 0, Kind::kCall);
    if (!is_call(*call, "torch._utils._rebuild_tensor_v2")) return std::nullopt;
    const files::PickleValue& arguments = item(*call, 1, Kind::kList);
    const at::Tensor& storage = storage_of(item(item(arguments, 0, Kind::kPersistent), 0, Kind::kList));
    const std::int64_t offset = item(arguments, 1, Kind::kInteger).integer;
    const std::vector<std::int64_t> sizes = numbers(item(arguments, 2, Kind::kList));
    const std::vector<std::int64_t> strides = numbers(item(arguments, 3, Kind::kList));
    if (sizes.size() != strides.size() || sizes.size() > 16 || offset < 0 || offset > storage.numel()) throw_damaged();
    if (extent(sizes, strides) > storage.numel() - offset) throw_damaged();
    // A stride of 0 may claim more elements than the file has bytes.
    std::int64_t count = 1;
    for (const std::int64_t size : sizes) {
      if (__builtin_mul_overflow(count, size, &count)) throw_damaged();
    }
    if (count > storage.numel()) throw_damaged();
    // Many tensors may share what the file has once.
    take(static_cast<std::uint64_t>(count), storage.element_size());
    return storage.as_strided(sizes, strides, offset).contiguous();
  }

 private:
  // ("storage", its type, its record's name, a device, how many elements).
  const at::Tensor& storage_of(const files::PickleValue& name) {
    const std::string& key = item(name, 2, Kind::kText).text;
    if (const auto found = storages_.find(key); found != storages_.end()) return found->second;
    const at::ScalarType type = storage_type(item(name, 1, Kind::kGlobal).text);
    const std::string bytes = record("data/" + key, 2);  // there and in the tensor
    const auto count = static_cast<std::int64_t>(bytes.size() / c10::elementSize(type));
    at::Tensor storage = at::empty({count}, type);
    std::memcpy(storage.mutable_data_ptr(), bytes.data(), static_cast<std::size_t>(count) * c10::elementSize(type));
    return storages_.emplace(key, std::move(storage)).first->second;
  }

  // Before memory is taken for so many.
  void take(std::uint64_t count, std::uint64_t each) {
    if (count > left_ / each) throw_unfolding();
    left_ -= count * each;
  }

  caffe2::serialize::PyTorchStreamReader reader_;
  std::uint64_t left_;  // bytes that may still be taken
  std::map<std::string, at::Tensor> storages_;
};

Weights tensors_of(const files::PickleValue& dictionary, Archive& archive) {
  Weights weights;
  for (const auto& [key, value] : dictionary.entries) {
    if (!key->is(Kind::kText)) continue;
    if (std::optional<at::Tensor> tensor = archive.tensor(*value)) weights.tensors.emplace_back(key->text, *tensor);
  }
  return weights;
}

// What PyTorch's C++ side writes says of a dictionary which types it is of.
const files::PickleValue& untagged(const files::PickleValue& value) {
  if (!is_call(value, "torch.jit._pickle.restore_type_tag")) return value;
  return item(item(value, 1, Kind::kList), 0, Kind::kDictionary);
}

// Of the first dictionary of tensors: the whole, or where trainers keep it.
Weights state_in(const files::PickleValue& value, Archive& archive) {
  if (Weights weights = tensors_of(value, archive); !weights.tensors.empty()) return weights;
  for (const char* name : {"params_ema", "params", "state_dict", "model"}) {
    const files::PickleValue* inner = value.find(name);
    if (inner == nullptr) continue;
    if (Weights weights = tensors_of(*inner, archive); !weights.tensors.empty()) return weights;
  }
  throw WeightsError("it holds no dictionary of tensors");
}

// A pickle as torch.save writes it, of the second protocol.
class PickleText {
 public:
  void add(std::string_view code) { text_ += code; }
  void add_text(std::string_view text) {
    add("X");
    add_number(static_cast<std::uint32_t>(text.size()));
    add(text);
  }
  void add_integer(std::int64_t value) {
    add("\x8a\x08");
    add_number(value);
  }
  void add_tuple(at::IntArrayRef numbers) {
    add("(");
    for (const std::int64_t number : numbers) add_integer(number);
    add("t");
  }
  const std::string& text() const { return text_; }

 private:
  template <typename Number>
  void add_number(Number number) {
    text_.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }

  std::string text_;
};

std::string_view storage_name(at::ScalarType type) {
  for (const StorageName& storage : kStorages) {
    if (type == storage.type) return storage.name;
  }
  throw WeightsError(fmt::format("tensors of type {} cannot be written", c10::toString(type)));
}

// _rebuild_tensor_v2(storage, 0, sizes, strides, False, OrderedDict()).
void add_tensor(const at::Tensor& tensor, const std::string& key, PickleText& pickle) {
  const std::string_view storage = storage_name(tensor.scalar_type());
  pickle.add("ctorch._utils\n_rebuild_tensor_v2\n((");
  pickle.add_text("storage");
  pickle.add(fmt::format("ctorch\n{}\n", storage.substr(storage.find('.') + 1)));
  pickle.add_text(key);
  pickle.add_text("cpu");
  pickle.add_integer(tensor.numel());
  pickle.add("tQ");
  pickle.add_integer(0);
  pickle.add_tuple(tensor.sizes());
  pickle.add_tuple(tensor.strides());
  pickle.add("\x89");
  pickle.add("ccollections\nOrderedDict\n)RtR");
}

}  // namespace

std::string to_torch_file(const Weights& weights) {
  std::string bytes;
  caffe2::serialize::PyTorchStreamWriter writer([&bytes](const void* data, std::size_t size) {
    bytes.append(static_cast<const char*>(data), size);
    return size;
  });
  PickleText pickle;
  pickle.add("\x80\x02}(");
  std::vector<at::Tensor> kept;
  for (const auto& [name, tensor] : weights.tensors) {
    const std::string key = std::to_string(kept.size());
    kept.push_back(tensor.cpu().contiguous());
    pickle.add_text(name);
    add_tensor(kept.back(), key, pickle);
  }
  pickle.add("u.");
  writer.writeRecord("data.pkl", pickle.text().data(), pickle.text().size());
  writer.writeRecord("byteorder", "little", 6);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    writer.writeRecord(fmt::format("data/{}", i), kept[i].const_data_ptr(), kept[i].nbytes());
  }
  writer.writeEndOfFile();
  return bytes;
}

Weights from_torch_file(const std::string& bytes) {
  const std::optional<std::uint64_t> unfolded = files::unfolded_size(bytes);
  if (!unfolded) throw WeightsError("it is cut short or damaged");
  if (*unfolded > files::most_bytes_of_weights(bytes.size())) throw_unfolding();
  try {
    Archive archive(bytes);
    if (archive.has("byteorder") && archive.record("byteorder") != "little") {
      throw WeightsError("its numbers are big-endian, which is not read here");
    }
    const files::Pickle pickle(archive.record("data.pkl", kBytesOfValue));
    return state_in(untagged(pickle.value()), archive);
  } catch (const files::PickleError& error) {
    throw WeightsError(error.what());
  } catch (const c10::Error&) {
    throw WeightsError("it is cut short or damaged");
  }
}

}  // namespace anymps::superres::weights
