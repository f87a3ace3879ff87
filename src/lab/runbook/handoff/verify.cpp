#include "lab/runbook/handoff/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "lab/host/python.h"
#include "lab/runbook/handoff/data_manifest.h"
#include "lab/runbook/handoff/environment.h"
#include "lab/runbook/handoff/environment_difference.h"

namespace anymps::lab::runbook::handoff {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

bool are_texts(const json& list) {
  return list.is_array() && !list.empty() && std::ranges::all_of(list, [](const json& one) { return one.is_string(); });
}

}  // namespace

Bundle opened_bundle(const std::string& path, const std::string& sha256, const BundleLimits& limits) {
  Bundle bundle = read_bundle(path, limits);
  if (!sha256.empty() && folded(sha256) != bundle.sha256) {
    throw BundleError(fmt::format("the bundle {} is another one: its manifest has the digest {}", path, bundle.sha256));
  }
  const auto needs = [&](bool has, const char* what) {
    if (!has) throw BundleError(fmt::format("the bundle {} cannot be used: it tells no {}", path, what));
  };
  const json& manifest = bundle.manifest;
  const json golden = manifest.value("golden", json());
  const json variables = manifest.value("variables", json::object());
  needs(golden.is_object() && are_texts(golden.value("words", json())) && are_texts(golden.value("given", json())),
        "golden command");
  const json folder = golden.value("folder", json());
  needs(folder.is_string() && !path_fault(folder.get<std::string>()), "folder of its command");
  needs(variables.is_object() && std::ranges::all_of(variables, [](const json& one) { return one.is_string(); }),
        "variables");
  const json data = manifest.value("data", json());
  needs(data.is_null() || (data.is_object() && data.value("path", json()).is_string()), "place of its data set");
  needs(bundle.document("environment.json").is_object(), "environment");
  return bundle;
}

json verify_handoff(const Bundle& bundle, const VerifyOptions& options, screen::Progress& progress) {
  json notes = json::array();
  if (!options.into.empty()) {
    progress.at(0.1, "unpacking");
    extract_bundle(options.bundle, bundle, options.into);
  }
  progress.at(0.4, "asking the interpreter");
  const json here = environment_here(options.python.empty() ? host::find_python() : options.python);
  json differences = environment_differences(here, bundle.document("environment.json"));

  const json theirs = bundle.document("data.manifest.json");
  const json data_set = bundle.manifest.value("data", json());
  const bool packed = theirs.is_object() && data_set.is_object() && data_set.value("packed", json()) == true;
  std::string data = options.data;
  if (data.empty() && packed && !options.into.empty()) data = (fs::path(options.into) / "data").string();
  if (theirs.is_object() && !data.empty()) {
    const json ours = data_manifest(data, [&](std::size_t done, std::size_t of) {
      progress.at(0.5 + 0.5 * static_cast<double>(done) / static_cast<double>(of), "reading the data set");
    });
    for (json& one : data_differences(ours, theirs)) differences.push_back(std::move(one));
  } else if (theirs.is_object() && !packed) {
    notes.push_back("the data set was not compared; --data names where it lies here");
  } else if (!theirs.is_object()) {
    notes.push_back("the bundle names no data set");
  }
  return {{"bundle", options.bundle},
          {"sha256", bundle.sha256},
          {"files", bundle.files.size()},
          {"into", options.into.empty() ? json() : json(options.into)},
          {"golden", bundle.manifest["golden"]},
          {"differences", std::move(differences)},
          {"notes", std::move(notes)}};
}

}  // namespace anymps::lab::runbook::handoff
