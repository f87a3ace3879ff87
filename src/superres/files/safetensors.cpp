#include "superres/files/safetensors.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "lab/base/json_text.h"

namespace anymps::superres::files {
namespace {

using nlohmann::json;

// safetensors refuses longer headers, too.
constexpr std::uint64_t kLongestHeader = 100'000'000;
constexpr const char* kMetadataName = "__metadata__";

struct Element {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr std::array kElements = {Element{"F32", 4}, Element{"F64", 8}, Element{"F16", 2}, Element{"BF16", 2},
                                  Element{"I64", 8}, Element{"I32", 4}, Element{"U8", 1},  Element{"BOOL", 1}};

// Bytes of one element; 0 where the type is none that is known here.
std::uint64_t element_bytes(std::string_view dtype) {
  for (const Element& element : kElements) {
    if (dtype == element.name) return element.bytes;
  }
  return 0;
}

SafetensorsEntry entry_of(const std::string& name, const json& json, std::string_view data) {
  SafetensorsEntry entry{
      name, json.at("dtype").get<std::string>(), json.at("shape").get<std::vector<std::int64_t>>(), {}};
  const auto offsets = json.at("data_offsets").get<std::array<std::uint64_t, 2>>();
  std::uint64_t bytes = element_bytes(entry.dtype);
  if (bytes == 0) throw SafetensorsError(fmt::format("it has a tensor of the unknown type {}", entry.dtype));
  // Sizes are multiplied one by one, so that none can wrap around.
  for (const std::int64_t size : entry.shape) {
    if (size < 0 || (size > 0 && bytes > data.size() / static_cast<std::uint64_t>(size))) {
      throw SafetensorsError("a tensor's shape does not fit the file");
    }
    bytes *= static_cast<std::uint64_t>(size);
  }
  if (offsets[0] > offsets[1] || offsets[1] > data.size() || offsets[1] - offsets[0] != bytes) {
    throw SafetensorsError("a tensor lies outside the file: it is cut short or damaged");
  }
  entry.bytes = data.substr(offsets[0], bytes);
  return entry;
}

}  // namespace

Safetensors parse_safetensors(std::string_view bytes) {
  std::uint64_t length = 0;
  if (bytes.size() < sizeof(length)) throw SafetensorsError("it is cut short, or no file of weights");
  std::memcpy(&length, bytes.data(), sizeof(length));
  if (length > kLongestHeader || length > bytes.size() - sizeof(length)) {
    throw SafetensorsError("it is cut short, or no file of weights");
  }
  const json header = lab::base::json_of(bytes.substr(sizeof(length), length));
  if (!header.is_object()) throw SafetensorsError("its header is damaged");
  const std::string_view data = bytes.substr(sizeof(length) + length);
  Safetensors file;
  try {
    for (const auto& [name, entry] : header.items()) {
      if (name == kMetadataName) {
        file.about = entry.get<std::map<std::string, std::string>>();
      } else {
        file.entries.push_back(entry_of(name, entry, data));
      }
    }
  } catch (const json::exception&) {
    throw SafetensorsError("its header is damaged");
  }
  return file;
}

std::string safetensors_header(const Safetensors& file) {
  nlohmann::ordered_json header;
  if (!file.about.empty()) header[kMetadataName] = file.about;
  std::uint64_t end = 0;
  for (const SafetensorsEntry& entry : file.entries) {
    const std::uint64_t begin = end;
    end += entry.bytes.size();
    header[entry.name] = {{"dtype", entry.dtype}, {"shape", entry.shape}, {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // so that the tensors are aligned
  const std::uint64_t length = text.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + text;
}

}  // namespace anymps::superres::files
