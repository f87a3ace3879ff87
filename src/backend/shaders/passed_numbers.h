// Numbers that Python passes to a Metal kernel by value: whether they arrive as what the kernel declares. PyTorch
// passes an int as 8 bytes and a float as 4, whatever is declared, and says nothing.
#pragma once

#include <cstddef>
#include <string>

#include "metal/air/signature.h"

namespace anymps::backend::shaders {

enum class NumberKind { kInteger, kFloat, kBfloat };

struct PassedNumbers {
  NumberKind kind = NumberKind::kInteger;
  std::size_t bytes = 8;  // of one
  std::size_t count = 1;
};

// What is wrong where these are bound to the place `index`, and what to write instead. Empty where nothing is, or where
// no type of Metal's numbers is declared.
std::string mismatch(const metal::air::Signature& signature, unsigned index, const PassedNumbers& passed);

}  // namespace anymps::backend::shaders
