#include "lab/runbook/handoff/data_manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <set>
#include <span>
#include <stdexcept>

#include "gpu/support/sha256.h"

namespace anymps::lab::runbook::handoff {
namespace {

namespace fs = std::filesystem;
using DataFiles = std::vector<std::pair<std::string, fs::path>>;

void gather(const fs::path& folder, const std::string& prefix, std::set<fs::path>& visited, DataFiles& files) {
  if (!visited.insert(fs::canonical(folder)).second) return;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string path = prefix + entry.path().filename().string();
    if (entry.is_directory()) {
      gather(entry.path(), path + "/", visited, files);
    } else if (entry.is_regular_file()) {
      files.emplace_back(path, entry.path());
    }
  }
}

std::pair<std::uint64_t, std::string> digest_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  gpu::support::Sha256 hash;
  std::uint64_t bytes = 0;
  std::array<char, 64 << 10> block;
  while (file.read(block.data(), block.size()), file.gcount() > 0) {
    hash.update(std::as_bytes(std::span(block.data(), static_cast<std::size_t>(file.gcount()))));
    bytes += static_cast<std::uint64_t>(file.gcount());
  }
  if (!file.eof()) throw std::runtime_error(path.string() + " cannot be read");
  return {bytes, gpu::support::hex_of(hash.finish())};
}

}  // namespace

DataFiles data_files(const fs::path& data) {
  DataFiles files;
  try {
    if (fs::is_regular_file(data)) {
      files.emplace_back(data.filename().string(), data);
    } else {
      std::set<fs::path> visited;
      gather(data, "", visited, files);
    }
  } catch (const fs::filesystem_error& error) {
    throw std::runtime_error(fmt::format("the data set {} cannot be read: {}", data.string(), error.code().message()));
  }
  std::ranges::sort(files);
  return files;
}

DataManifest data_manifest(const fs::path& data, const std::function<void(std::size_t, std::size_t)>& progress) {
  DataManifest manifest;
  manifest.path = data.string();
  gpu::support::Sha256 all;
  const DataFiles files = data_files(data);
  for (const auto& [path, place] : files) {
    const auto [bytes, digest] = digest_of(place);
    const std::string line = fmt::format("{}  {}\n", digest, path);
    all.update(std::as_bytes(std::span(line)));
    manifest.bytes += bytes;
    manifest.files.push_back({path, bytes, digest});
    if (progress) progress(manifest.files.size(), files.size());
  }
  manifest.sha256 = gpu::support::hex_of(all.finish());
  return manifest;
}

}  // namespace anymps::lab::runbook::handoff
