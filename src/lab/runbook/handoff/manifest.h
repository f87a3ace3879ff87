// The manifest of a bundle: what it is to run, what it was made of, and every other file that it has.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lab/runbook/handoff/bundle.h"
#include "lab/runbook/handoff/environment.h"
#include "lab/runbook/handoff/golden_command.h"

namespace anymps::lab::runbook::handoff {

// The command as it ran well.
struct Golden {
  std::vector<std::string> words;  // without the interpreter, and with kDataWord for the data set
  std::string folder;              // of the bundle, in which it is started
  std::vector<std::string> given;  // as it was typed
  std::optional<std::string> owner;
  std::optional<std::string> date;
  std::optional<std::string> commit;  // none: the script is in no repository
  std::optional<bool> modified;       // tracked files differ from the commit

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("words", self.words);
    fields("folder", self.folder);
    fields("given", self.given);
    fields("owner", self.owner);
    fields("date", self.date);
    fields("commit", self.commit);
    fields("modified", self.modified);
  }
};

struct DataSet {
  std::string path;  // on the host that packed
  std::string sha256;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  bool packed = false;  // with its contents

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("path", self.path);
    fields("sha256", self.sha256);
    fields("files", self.files);
    fields("bytes", self.bytes);
    fields("packed", self.packed);
  }
};

struct Manifest {
  std::string format;  // kBundleFormat; left empty, like the version, so that a manifest without them is found out
  int version = 0;
  Golden golden;
  HostPlatform platform;
  std::optional<std::string> python;  // its version
  std::optional<TorchBuild> torch;
  std::map<std::string, std::string> variables;
  std::optional<DataSet> data;
  std::vector<LeftOut> left_out;
  std::vector<BundleFile> files;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("format", self.format);
    fields("version", self.version);
    fields("golden", self.golden);
    fields("platform", self.platform);
    fields("python", self.python);
    fields("torch", self.torch);
    fields("variables", self.variables);
    fields("data", self.data);
    fields("left_out", self.left_out);
    fields("files", self.files);
  }
};

// Throws BundleError where it is no manifest of ours, or its files are not as they may be, or more than the limits.
Manifest manifest_from(const nlohmann::json& from, const BundleLimits& limits);

// Throws BundleError where something that running it takes is not told, or was not of the kind that it has to be and
// so was left out. `from`: what the manifest was read from.
void check_runnable(const Manifest& manifest, const nlohmann::json& from);

}  // namespace anymps::lab::runbook::handoff
