// The functions that compiled kernels may call: this table and nothing else of the process.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace anymps::metal::runtime {

// Calls `define` with the name and the address of each.
void for_each_runtime_function(const std::function<void(std::string_view name, void* address)>& define);

// The first symbol that an object file leaves to others and that is not in the table; empty where there is none. Throws
// std::runtime_error where it is no object file.
std::string foreign_symbol_of(std::span<const std::byte> object);

}  // namespace anymps::metal::runtime
