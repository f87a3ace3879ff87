// Which data a run saw: one checksum of a file or of all files in a folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace anymps::lab::runbook::trial {

struct DataChecksum {
  std::string sha256;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
};

// Over the files in the order of their paths below `path`: each path, size and content. Links to files count as the
// files, links to folders are not followed. Throws std::runtime_error with the name of what cannot be read.
DataChecksum data_checksum(const std::filesystem::path& path);

}  // namespace anymps::lab::runbook::trial
