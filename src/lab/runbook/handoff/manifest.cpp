#include "lab/runbook/handoff/manifest.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "lab/base/units.h"
#include "lab/runbook/document/described.h"
#include "lab/runbook/document/fields.h"

namespace anymps::lab::runbook::handoff {
namespace {

using nlohmann::json;

// An entry that is not whole is no file that could be left out.
BundleFile file_from(const json& entry) {
  BundleFile file;
  bool is_complete = false;
  if (entry.is_object()) {
    document::FieldReader reader(entry);
    BundleFile::describe(reader, file);
    is_complete = reader.is_complete();
  }
  if (const auto fault = path_fault(file.path)) throw BundleError("its manifest is wrong: " + *fault);
  if (!is_complete || file.sha256.size() != 64 || !entry["bytes"].is_number_unsigned()) {
    throw BundleError("its manifest has no size, digest or mode for " + shown_path(file.path));
  }
  return file;
}

// A file where another one needs a folder.
void check_folders(const std::vector<BundleFile>& files, const std::set<std::string>& folded_paths) {
  for (const BundleFile& file : files) {
    const std::string path = folded(file.path);
    for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
      if (folded_paths.contains(path.substr(0, slash))) {
        throw BundleError("its manifest has a file where it needs a folder: " + shown_path(file.path));
      }
    }
  }
}

std::vector<BundleFile> files_from(const json& list, const BundleLimits& limits) {
  if (!list.is_array()) throw BundleError("its manifest lists no files");
  if (list.size() > limits.files) {
    throw BundleError(fmt::format("it has {} files; {} are allowed", list.size(), limits.files));
  }
  std::vector<BundleFile> files;
  std::set<std::string> seen = {folded(kManifestName)};
  std::uint64_t total = 0;
  for (const json& entry : list) {
    BundleFile file = file_from(entry);
    if (!seen.insert(folded(file.path)).second) {
      throw BundleError("its manifest names twice what some file systems take for one: " + shown_path(file.path));
    }
    if (file.bytes > limits.bytes - total) {
      throw BundleError(fmt::format("it has more than the {} that are allowed", base::human_bytes(limits.bytes)));
    }
    total += file.bytes;
    files.push_back(std::move(file));
  }
  check_folders(files, seen);
  return files;
}

}  // namespace

Manifest manifest_from(const json& from, const BundleLimits& limits) {
  Manifest manifest = document::described_from<Manifest>(from);
  if (manifest.format != kBundleFormat) throw BundleError("its manifest is none of a handoff");
  const json& version = document::member(from, "version");
  if (!version.is_number_integer()) throw BundleError("its manifest does not tell its version");
  if (version != kBundleVersion) {
    throw BundleError(fmt::format("it is of version {}; this anymps reads version {}", version.dump(), kBundleVersion));
  }
  manifest.files = files_from(document::member(from, "files"), limits);
  return manifest;
}

void check_runnable(const Manifest& manifest, const json& from) {
  const auto needs = [](bool has, const char* what) {
    if (!has) throw BundleError(fmt::format("it tells no {}", what));
  };
  const auto are_read = [](const json& list, const std::vector<std::string>& words) {
    return !words.empty() && list.size() == words.size();
  };
  const json& golden = document::member(from, "golden");
  needs(are_read(document::member(golden, "words"), manifest.golden.words) &&
            are_read(document::member(golden, "given"), manifest.golden.given),
        "golden command");
  needs(!path_fault(manifest.golden.folder), "folder of its command");
  const json& variables = document::member(from, "variables");
  needs(variables.is_null() || (variables.is_object() && variables.size() == manifest.variables.size()), "variables");
  needs(document::member(from, "data").is_null() || manifest.data, "place of its data set");
}

}  // namespace anymps::lab::runbook::handoff
