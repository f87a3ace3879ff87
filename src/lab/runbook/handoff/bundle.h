// A bundle: one archive (pax tar under zstd) with all that another host needs to run a command as it ran here. Its
// first entry, manifest.json, lists every other one with its size and SHA-256, so that the manifest's own digest stands
// for the whole.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace anymps::lab::runbook::handoff {

constexpr std::string_view kManifestName = "manifest.json";
constexpr std::string_view kBundleFormat = "anymps-handoff";
constexpr int kBundleVersion = 1;
// What a bundle has beside what describes it: the program, and the data set where it was packed.
constexpr std::string_view kProgramFolder = "files/";
constexpr std::string_view kDataFolder = "data/";

// Why a bundle cannot be used, in one line.
struct BundleError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct BundleFile {
  std::string path;  // relative, with slashes
  std::uint64_t bytes = 0;
  std::string sha256;
  bool executable = false;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("path", self.path);
    fields("bytes", self.bytes);
    fields("sha256", self.sha256);
    fields("executable", self.executable);
  }
};

// What a bundle may ask for at most, whatever it says of itself.
struct BundleLimits {
  std::uint64_t files = 200'000;
  std::uint64_t bytes = std::uint64_t{64} << 30;
  std::uint64_t manifest_bytes = std::uint64_t{64} << 20;
};

// Why a path may not be in a bundle: it leads outside, or could be another one's on some file system. Nothing where it
// may.
std::optional<std::string> path_fault(std::string_view path);

// The same for two paths that some file system takes for one.
std::string folded(std::string_view path);

// A path that may hold anything, for a message on one line.
std::string shown_path(std::string_view path);

// How documents stand in a bundle.
std::string bundle_text(const nlohmann::json& document);

}  // namespace anymps::lab::runbook::handoff
