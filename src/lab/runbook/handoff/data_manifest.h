// What a data set consists of: each file with its size and SHA-256, and one digest for all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lab/runbook/document/described.h"

namespace anymps::lab::runbook::handoff {

struct DataFile {
  std::string path;
  std::uint64_t bytes = 0;
  std::string sha256;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("path", self.path);
    fields("bytes", self.bytes);
    fields("sha256", self.sha256);
  }
};

struct DataManifest {
  std::string path;
  std::string sha256;  // of the list of files
  std::uint64_t bytes = 0;
  std::vector<DataFile> files;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("path", self.path);
    fields("sha256", self.sha256);
    fields("bytes", self.bytes);
    fields("files", self.files);
  }
};

// The files of a data set, a file or a folder: their paths in it, sorted, and where they lie. Links are followed, each
// folder is visited once. Throws std::runtime_error where something cannot be read.
std::vector<std::pair<std::string, std::filesystem::path>> data_files(const std::filesystem::path& data);

// `progress` is told how many files of how many are done.
DataManifest data_manifest(const std::filesystem::path& data,
                           const std::function<void(std::size_t done, std::size_t of)>& progress = {});

}  // namespace anymps::lab::runbook::handoff
