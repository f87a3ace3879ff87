#include "lab/runbook/trial/data_checksum.h"

#include <algorithm>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <vector>

#include "gpu/support/sha256.h"

namespace anymps::lab::runbook::trial {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBuffer = std::size_t{1} << 20;

void add_text(gpu::support::Sha256& hash, std::string_view text) {
  hash.update(std::as_bytes(std::span(text)));
  hash.update(std::as_bytes(std::span("", 1)));  // so that no two lists of texts give the same bytes
}

void add_file(gpu::support::Sha256& hash, const fs::path& path, const std::string& name, DataChecksum& sum) {
  std::ifstream file(path, std::ios::binary);
  std::error_code error;
  const std::uint64_t size = fs::file_size(path, error);
  if (!file || error) throw std::runtime_error(path.string() + " cannot be read");
  add_text(hash, name);
  add_text(hash, std::to_string(size));
  std::vector<char> buffer(kBuffer);
  while (file) {
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    hash.update(std::as_bytes(std::span(buffer).first(static_cast<std::size_t>(file.gcount()))));
  }
  if (file.bad()) throw std::runtime_error(path.string() + " cannot be read");
  ++sum.files;
  sum.bytes += size;
}

}  // namespace

DataChecksum data_checksum(const fs::path& path) {
  gpu::support::Sha256 hash;
  DataChecksum sum;
  std::error_code error;
  if (fs::is_directory(path, error)) {
    std::vector<fs::path> files;
    for (fs::recursive_directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
      if (entry->is_regular_file(error)) files.push_back(entry->path().lexically_relative(path));
      error.clear();
    }
    if (error) throw std::runtime_error(path.string() + ": " + error.message());
    std::ranges::sort(files, {}, [](const fs::path& file) { return file.generic_string(); });
    for (const fs::path& file : files) add_file(hash, path / file, file.generic_string(), sum);
  } else {
    add_file(hash, path, path.filename().string(), sum);
  }
  sum.sha256 = gpu::support::hex_of(hash.finish());
  return sum;
}

}  // namespace anymps::lab::runbook::trial
