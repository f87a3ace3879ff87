// Writes a bundle. The manifest comes first, so that whoever reads it knows what to expect of the rest.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "lab/runbook/handoff/bundle_archive.h"
#include "lab/runbook/handoff/manifest.h"

namespace anymps::lab::runbook::handoff {

// Contents of a bundle: a file of this machine, or a text.
struct PackedFile {
  std::string path;              // in the bundle
  std::filesystem::path source;  // empty: `text` is the contents
  std::string text;
};

// How many bytes of how many are done.
using BundleProgress = std::function<void(std::uint64_t done, std::uint64_t of)>;

struct WrittenBundle {
  std::string sha256;  // of the manifest
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;  // of the contents
};

// Lists `files` in `manifest`, and writes both; `made` is the time that texts get. Complete, or not at all: an older
// file of that name stays until the new one is read back whole. Throws std::runtime_error, also where a file changes
// meanwhile. `before_place` is called when all is on the disk and only the name is missing; where it throws, the older
// file stays.
WrittenBundle write_bundle(const std::filesystem::path& target, Manifest manifest, std::vector<PackedFile> files,
                           std::int64_t made, const BundleProgress& progress = {},
                           const std::function<void(const WrittenBundle&)>& before_place = {});

}  // namespace anymps::lab::runbook::handoff
