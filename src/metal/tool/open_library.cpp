#include "metal/tool/open_library.h"

#include <algorithm>
#include <filesystem>

#include "gpu/edit_distance.h"

namespace anymps::metal {

Metallib open_library(const std::string& file) {
  if (std::filesystem::path(file).extension() == ".metal") {
    throw MetallibError(file + ": Metal source cannot be compiled yet; this takes compiled libraries (.metallib)");
  }
  try {
    return Metallib::from_file(file);
  } catch (const MetallibError& error) {
    throw MetallibError(file + ": " + error.what());
  }
}

const FunctionEntry& find_function(const Metallib& library, const std::string& file, const std::string& name) {
  if (const FunctionEntry* function = library.find(name)) return *function;
  const auto functions = library.functions();
  if (functions.empty()) throw MetallibError(file + ": there is no function in it");
  const auto nearest = std::ranges::min_element(
      functions, {}, [&](const FunctionEntry& function) { return gpu::edits_between(name, function.name); });
  throw MetallibError(file + ": there is no function `" + name + "`; the nearest is `" + nearest->name + "`");
}

}  // namespace anymps::metal
