// NumPy's files of one array (.npy), as far as Metal has their types.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "metal/tool/element_type.h"

namespace anymps::metal::tool {

struct NpyArray {
  Scalar scalar = Scalar::kF32;
  std::vector<std::size_t> shape;
  std::vector<std::byte> bytes;  // in C's order
};

// Complex numbers are read as two floats. NumPy has no bfloat: it is read from, and written as, the two bytes that
// ml_dtypes makes of it ("V2"). Throws RequestError that begins with the file's name.
NpyArray read_npy(const std::string& file);
// The bytes of such a file.
std::vector<std::byte> npy_of(const NpyArray& array);

}  // namespace anymps::metal::tool
