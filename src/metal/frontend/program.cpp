#include "metal/frontend/program.h"

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

#include "gpu/cache/compile_cache.h"
#include "gpu/support/code_version.h"
#include "metal/frontend/extract_kernel.h"
#include "metal/frontend/lex/include_files.h"

namespace anymps::metal::frontend {
namespace {

std::string key_text_of(const SourceOptions& options) {
  std::string text = options.name + "\n" + std::to_string(options.version) + (options.fast_math ? " fast" : "");
  for (const std::string& folder : options.folders) text += "\n-I" + folder;
  for (const auto& [name, value] : options.defines) text += "\n-D" + name + "=" + value;
  return text;
}

gpu::support::Digest digest_of(const std::string& source) {
  return gpu::support::Sha256().update(std::as_bytes(std::span(source.data(), source.size()))).finish();
}

gpu::support::Blob cached(const char* kind, const gpu::support::Digest& source, const std::string& how,
                          const std::function<gpu::support::Blob()>& make) {
  static const std::string version =
      gpu::support::version_of_code(reinterpret_cast<const void*>(&key_text_of)) + lex::hash_of_headers();
  const gpu::cache::CacheKey key({.kind = kind, .input = source, .options = how, .target = "air", .version = version});
  return gpu::cache::compile_cache().get_or_make(key, make);
}

// In the cache: the names, each ended by a zero, an empty one, the warnings and a zero, then the module.
std::string pack(const CompiledSource& compiled) {
  std::string bytes;
  for (const std::string& name : compiled.kernels) {
    if (name.empty() || name.find('\0') != std::string::npos) {
      throw CompileError("program_source: error: the name of a kernel is empty or has a NUL character");
    }
    bytes += name + '\0';
  }
  bytes += '\0';
  std::string warnings = compiled.warnings;  // which quote files that are included, whatever is in them
  std::ranges::replace(warnings, '\0', '?');
  bytes += warnings + '\0';
  bytes.append(reinterpret_cast<const char*>(compiled.module.data()), compiled.module.size());
  return bytes;
}

struct Unpacked {
  std::vector<std::string> kernels;
  std::string warnings;
  std::span<const std::byte> module;
};
Unpacked unpack(std::span<const std::byte> bytes) {
  Unpacked unpacked;
  const char* at = reinterpret_cast<const char*>(bytes.data());
  const char* end = at + bytes.size();
  const auto next = [&] {
    const char* stop = std::find(at, end, '\0');
    std::string text(at, stop);
    at = stop == end ? end : stop + 1;
    return text;
  };
  for (std::string name = next(); !name.empty(); name = next()) unpacked.kernels.push_back(std::move(name));
  unpacked.warnings = next();
  unpacked.module = std::as_bytes(std::span(at, static_cast<std::size_t>(end - at)));
  return unpacked;
}

}  // namespace

Program::Program(std::string_view source, SourceOptions options)
    : source_(source), digest_(digest_of(source_)), options_(std::move(options)) {
  const gpu::support::Blob blob = compiled();
  Unpacked unpacked = unpack(blob.bytes());
  kernels_ = std::move(unpacked.kernels);
  warnings_ = std::move(unpacked.warnings);
  if (!options_.folders.empty()) kept_ = blob;
}

gpu::support::Blob Program::compiled() const {
  if (kept_) return *kept_;
  const auto make = [&] {
    const std::string packed = pack(compile_source(source_, options_));
    return gpu::support::Blob::copy_of(std::as_bytes(std::span(packed.data(), packed.size())));
  };
  return options_.folders.empty() ? cached("metal-program", digest_, key_text_of(options_), make) : make();
}

std::vector<std::byte> Program::air_of(const std::string& kernel) const {
  const auto make = [&] {
    const gpu::support::Blob program = compiled();
    return gpu::support::Blob::copy_of(extract_kernel(unpack(program.bytes()).module, kernel));
  };
  const gpu::support::Blob air =
      kept_ ? make() : cached("metal-kernel", digest_, key_text_of(options_) + "\n" + kernel, make);
  return {air.bytes().begin(), air.bytes().end()};
}

std::vector<std::vector<std::byte>> Program::air_of(std::span<const std::string> kernels) const {
  if (kernels.size() == 1) return std::vector<std::vector<std::byte>>(1, air_of(kernels[0]));
  const gpu::support::Blob program = compiled();
  return extract_kernels(unpack(program.bytes()).module, kernels);
}

}  // namespace anymps::metal::frontend
