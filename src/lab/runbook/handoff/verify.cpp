#include "lab/runbook/handoff/verify.h"

#include <fmt/format.h>

#include <filesystem>
#include <iterator>
#include <utility>

#include "lab/host/python.h"
#include "lab/runbook/handoff/data_manifest.h"
#include "lab/runbook/handoff/environment.h"
#include "lab/runbook/handoff/environment_difference.h"

namespace anymps::lab::runbook::handoff {

namespace fs = std::filesystem;

Bundle opened_bundle(const std::string& path, const std::string& sha256, const BundleLimits& limits) {
  Bundle bundle = read_bundle(path, limits);
  if (!sha256.empty() && folded(sha256) != bundle.sha256) {
    throw BundleError(fmt::format("the bundle {} is another one: its manifest has the digest {}", path, bundle.sha256));
  }
  try {
    check_runnable(bundle.manifest, bundle.text_as_json(std::string(kManifestName)));
    if (!bundle.described<Environment>("environment.json")) throw BundleError("it tells no environment");
  } catch (const BundleError& error) {
    throw BundleError(fmt::format("the bundle {} cannot be used: {}", path, error.what()));
  }
  return bundle;
}

VerifyResult verify_handoff(const Bundle& bundle, const VerifyOptions& options, screen::Progress& progress) {
  VerifyDocument document;
  document.bundle = options.bundle;
  document.sha256 = bundle.sha256;
  document.files = bundle.manifest.files.size();
  document.golden = bundle.manifest.golden;
  if (!options.into.empty()) {
    progress.at(0.1, "unpacking");
    extract_bundle(options.bundle, bundle, options.into);
    document.into = options.into;
  }
  progress.at(0.4, "asking the interpreter");
  const Environment here = environment_here(options.python.empty() ? host::find_python() : options.python);
  document.differences =
      environment_differences(here, bundle.described<Environment>("environment.json").value_or(Environment{}));

  const auto theirs = bundle.described<DataManifest>("data.manifest.json");
  const bool packed = theirs && bundle.manifest.data && bundle.manifest.data->packed;
  std::string data = options.data;
  if (data.empty() && packed && !options.into.empty()) data = (fs::path(options.into) / "data").string();
  if (theirs && !data.empty()) {
    const DataManifest ours = data_manifest(data, [&](std::size_t done, std::size_t of) {
      progress.at(0.5 + 0.5 * static_cast<double>(done) / static_cast<double>(of), "reading the data set");
    });
    std::ranges::move(data_differences(ours, *theirs), std::back_inserter(document.differences));
  } else if (theirs && !packed) {
    document.notes.emplace_back("the data set was not compared; --data names where it lies here");
  } else if (!theirs) {
    document.notes.emplace_back("the bundle names no data set");
  }
  const bool bad = has_red(document.differences);
  return {.verdict = bad ? document::Verdict::kBad : document::Verdict::kGood, .document = std::move(document)};
}

}  // namespace anymps::lab::runbook::handoff
