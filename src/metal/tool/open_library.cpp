#include "metal/tool/open_library.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

#include "gpu/support/edit_distance.h"
#include "metal/frontend/program.h"
#include "metal/library/metallib_writer.h"
#include "metal/tool/file_bytes.h"
#include "metal/tool/function_signature.h"

namespace anymps::metal::tool {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_name(const std::string& file, const std::string& name, const std::vector<std::string>& known) {
  if (known.empty()) throw library::MetallibError(file + ": there is no function in it");
  const auto nearest = std::ranges::min_element(
      known, {}, [&](const std::string& other) { return gpu::support::edits_between(name, other); });
  throw library::MetallibError(file + ": there is no function `" + name + "`; the nearest is `" + *nearest + "`");
}

// Those of the program that are named, or all.
std::vector<std::string> chosen(const frontend::Program& program, const std::string& file,
                                std::span<const std::string> kernels) {
  if (kernels.empty()) return program.kernels();
  for (const std::string& kernel : kernels) {
    if (std::ranges::find(program.kernels(), kernel) == program.kernels().end()) {
      refuse_name(file, kernel, program.kernels());
    }
  }
  return {kernels.begin(), kernels.end()};
}

bool is_source(const std::string& file) { return fs::path(file).extension() == ".metal"; }

// Only then: what is included may change, and is not looked for in the cache.
bool includes_by_quotes(std::string_view source) {
  return source.find('"') != std::string_view::npos && source.find("#include") != std::string_view::npos;
}

OpenedLibrary compile(const std::string& file, SourceOptions options, std::span<const std::string> kernels) {
  const std::vector<std::byte> bytes = read_bytes(file);
  const std::string_view source(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  options.name = file;
  if (includes_by_quotes(source)) {
    const fs::path folder = fs::path(file).parent_path();
    options.folders.push_back(folder.empty() ? "." : folder.string());
  }
  const frontend::Program program(source, options);
  const std::vector<std::string> names = chosen(program, file, kernels);
  const std::vector<std::vector<std::byte>> modules = program.air_of(names);
  std::vector<library::FunctionEntry> functions;
  for (std::size_t i = 0; i < names.size(); ++i) functions.push_back(entry_of(names[i], modules[i]));
  return {library::Metallib::from_bytes(library::write_metallib(functions)), program.warnings()};
}

}  // namespace

bool reads_other_files(const std::string& file, const SourceOptions& options) {
  if (!is_source(file)) return false;
  const std::vector<std::byte> bytes = read_bytes(file);
  return !options.folders.empty() || includes_by_quotes({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

OpenedLibrary open_library(const std::string& file, const SourceOptions& options,
                           std::span<const std::string> kernels) {
  if (is_source(file)) return compile(file, options, kernels);
  std::vector<std::byte> bytes = read_bytes(file);
  try {
    return {library::Metallib::from_bytes(std::move(bytes)), ""};
  } catch (const library::MetallibError& error) {
    throw library::MetallibError(file + ": " + error.what());
  }
}

const library::FunctionEntry& find_function(const library::Metallib& library, const std::string& file,
                                            const std::string& name) {
  if (const library::FunctionEntry* function = library.find(name)) return *function;
  std::vector<std::string> known;
  for (const library::FunctionEntry& function : library.functions()) known.push_back(function.name);
  refuse_name(file, name, known);
}

}  // namespace anymps::metal::tool
