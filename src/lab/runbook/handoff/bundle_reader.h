// Reads a bundle from somebody else, and trusts nothing in it: first the whole archive is read and held against its
// manifest, only then is anything written.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>

#include "lab/runbook/document/described.h"
#include "lab/runbook/handoff/bundle.h"
#include "lab/runbook/handoff/manifest.h"

namespace anymps::lab::runbook::handoff {

struct Bundle {
  Manifest manifest;
  std::string sha256;                        // of the manifest
  std::map<std::string, std::string> texts;  // the contents of those that describe the bundle, the manifest too

  // A text of the bundle as JSON; null where it has none.
  nlohmann::json text_as_json(const std::string& path) const;

  // The same of a document that is known.
  template <document::Described T>
  std::optional<T> described(const std::string& path) const {
    const nlohmann::json found = text_as_json(path);
    return found.is_object() ? std::optional(document::described_from<T>(found)) : std::nullopt;
  }
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
