// The header of safetensors: what tensors a file has, and where.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace anymps::superres::files {

// One line about what is wrong with a file, without its name.
struct SafetensorsError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct SafetensorsEntry {
  std::string name;
  std::string dtype;  // "F32"
  std::vector<std::int64_t> shape;
  std::string_view bytes;  // within the file's
};

struct Safetensors {
  std::vector<SafetensorsEntry> entries;
  std::map<std::string, std::string> about;
};

// Whatever the bytes are, no entry lies outside them, and each is as long as its shape and type say. `bytes` must
// outlive the result. Throws SafetensorsError.
Safetensors parse_safetensors(std::string_view bytes);

// Up to where the tensors begin; they follow in the entries' order. Of these only the lengths of `bytes` are looked at.
std::string safetensors_header(const Safetensors& file);

}  // namespace anymps::superres::files
