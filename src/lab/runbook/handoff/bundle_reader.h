// Reads a bundle from somebody else, and trusts nothing in it: first the whole archive is read and held against its
// manifest, only then is anything written.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "lab/runbook/handoff/bundle.h"

namespace anymps::lab::runbook::handoff {

struct Bundle {
  nlohmann::json manifest;
  std::string sha256;                        // of the manifest
  std::vector<BundleFile> files;             // all but the manifest
  std::map<std::string, std::string> texts;  // the contents of those that describe the bundle, the manifest too

  // A text of the bundle as JSON; null where it has none.
  nlohmann::json document(const std::string& path) const;
};

// Both throw BundleError: damaged, cut off, appended to, not as listed, beyond the limits.
Bundle read_bundle(const std::filesystem::path& path, const BundleLimits& limits = {});
Bundle read_bundle(std::span<const std::byte> bytes, const BundleLimits& limits = {});

// Puts the contents of the bundle at `path`, which was read before, into the new or empty folder `target`. They are
// gathered beside it, so that there is all of it or nothing. Throws BundleError where it is not that bundle any more,
// and std::runtime_error where it cannot be written.
void extract_bundle(const std::filesystem::path& path, const Bundle& read, const std::filesystem::path& target);

// The same contents as a tar without compression, which any host can unpack, at `target`. Throws as above.
void write_plain_tar(const std::filesystem::path& path, const Bundle& read, const std::filesystem::path& target);

}  // namespace anymps::lab::runbook::handoff
