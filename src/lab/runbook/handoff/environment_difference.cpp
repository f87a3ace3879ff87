#include "lab/runbook/handoff/environment_difference.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "lab/host/platform.h"

namespace anymps::lab::runbook::handoff {
namespace {

using nlohmann::json;
using Text = std::optional<std::string>;

// They install packages and take no part in a run.
constexpr std::array<std::string_view, 5> kInstallers = {"pip", "setuptools", "wheel", "uv", "virtualenv"};
// Where things are kept changes no result, and how fast it is the mounts tell.
constexpr std::array<std::string_view, 4> kPlaces = {"HF_", "TORCH_HOME", "XDG_", "ANYMPS"};

class Differences {
 public:
  // What is not there differs from what is.
  template <typename T>
  void compare(DifferenceKind kind, const std::string& name, const std::optional<T>& here,
               const std::optional<T>& there, Severity severity) {
    if (here != there) list_.push_back({kind, name, json_or_null(here), json_or_null(there), severity});
  }
  std::vector<Difference> take() { return std::move(list_); }

 private:
  template <typename T>
  static json json_or_null(const std::optional<T>& value) {
    return value ? json(*value) : json();
  }

  std::vector<Difference> list_;
};

std::string minor_version(const Text& version) {
  const std::string text = version.value_or("");
  return text.substr(0, text.find('.', text.find('.') + 1));
}

template <typename T>
std::map<std::string, const T*> by(std::string T::* key, const std::vector<T>& list) {
  std::map<std::string, const T*> all;
  for (const T& one : list) all[one.*key] = &one;
  return all;
}

template <typename Value>
const Value* in(const std::map<std::string, const Value*>& all, const std::string& name) {
  const auto found = all.find(name);
  return found != all.end() ? found->second : nullptr;
}

template <typename Value>
std::set<std::string> names_of(const std::map<std::string, Value>& one, const std::map<std::string, Value>& other) {
  std::set<std::string> names;
  for (const auto& [name, value] : one) names.insert(name);
  for (const auto& [name, value] : other) names.insert(name);
  return names;
}

void compare_platforms(Differences& differences, const HostPlatform& here, const HostPlatform& there) {
  const auto compare = [&](const char* name, const auto& ours, const auto& theirs, Severity severity) {
    differences.compare(DifferenceKind::kPlatform, name, ours, theirs, severity);
  };
  compare("architecture", here.machine, there.machine, Severity::kRed);
  compare("system", here.system, there.system, Severity::kRed);
  compare("release", here.release, there.release, Severity::kYellow);
  compare("cpu", here.cpu, there.cpu, Severity::kYellow);
  compare("cores", here.cores, there.cores, Severity::kYellow);
  compare("memory_bytes", here.memory_bytes, there.memory_bytes, Severity::kYellow);
}

void compare_interpreters(Differences& differences, const Interpreter& here, const Interpreter& there) {
  differences.compare(DifferenceKind::kPython, "implementation", here.implementation, there.implementation,
                      Severity::kRed);
  const bool same_minor = minor_version(here.version) == minor_version(there.version);
  differences.compare(DifferenceKind::kPython, "version", here.version, there.version,
                      same_minor ? Severity::kYellow : Severity::kRed);
}

void compare_packages(Differences& differences, const std::vector<Package>& here, const std::vector<Package>& there) {
  const auto ours = by(&Package::name, here);
  const auto theirs = by(&Package::name, there);
  for (const std::string& name : names_of(ours, theirs)) {
    const bool installer = std::ranges::find(kInstallers, name) != kInstallers.end();
    const Package* our = in(ours, name);
    const Package* their = in(theirs, name);
    const Text our_version = our != nullptr ? our->version : std::nullopt;
    const Text their_version = their != nullptr ? their->version : std::nullopt;
    if (our_version != their_version) {
      // More than the bundle has does no harm by itself.
      differences.compare(DifferenceKind::kPackage, name, our_version, their_version,
                          installer || !their_version ? Severity::kYellow : Severity::kRed);
    } else if (our != nullptr && their != nullptr && our->record_sha256 && their->record_sha256) {
      differences.compare(DifferenceKind::kPackageFiles, name, our->record_sha256, their->record_sha256,
                          Severity::kYellow);
    }
  }
}

void compare_torch(Differences& differences, const TorchBuild& here, const TorchBuild& there) {
  const auto compare = [&](const char* name, const Text& ours, const Text& theirs) {
    differences.compare(DifferenceKind::kTorchBuild, name, ours, theirs, Severity::kRed);
  };
  // The version is compared among the packages; torch can also be there as no package.
  compare("version", here.version, there.version);
  compare("cuda", here.cuda, there.cuda);
  compare("hip", here.hip, there.hip);
  compare("git", here.git, there.git);
}

void compare_variables(Differences& differences, const std::map<std::string, std::string>& here,
                       const std::map<std::string, std::string>& there) {
  const auto value_in = [](const std::map<std::string, std::string>& variables, const std::string& name) {
    const auto found = variables.find(name);
    return found != variables.end() ? Text(found->second) : std::nullopt;
  };
  for (const std::string& name : names_of(here, there)) {
    const bool place = std::ranges::any_of(kPlaces, [&](std::string_view prefix) { return name.starts_with(prefix); });
    differences.compare(DifferenceKind::kVariable, name, value_in(here, name), value_in(there, name),
                        place ? Severity::kYellow : Severity::kRed);
  }
}

void compare_caches(Differences& differences, const std::vector<CacheFolder>& here,
                    const std::vector<CacheFolder>& there) {
  const auto is_remote = [](const CacheFolder& cache) { return cache.mount && host::is_network_mount(*cache.mount); };
  const auto ours = by(&CacheFolder::name, here);
  for (const auto& [name, their] : by(&CacheFolder::name, there)) {
    const CacheFolder* our = in(ours, name);
    if (our == nullptr) continue;
    // A cache over the network that was on a disk is what makes another host slow.
    const bool worse = is_remote(*our) && !is_remote(*their);
    differences.compare(DifferenceKind::kCacheMount, name, our->mount, their->mount,
                        worse ? Severity::kRed : Severity::kYellow);
  }
}

}  // namespace

std::vector<Difference> environment_differences(const Environment& here, const Environment& there) {
  Differences differences;
  compare_platforms(differences, here.platform, there.platform);
  compare_interpreters(differences, here.python, there.python);
  compare_packages(differences, here.packages, there.packages);
  compare_torch(differences, here.torch.value_or(TorchBuild{}), there.torch.value_or(TorchBuild{}));
  compare_variables(differences, here.variables, there.variables);
  compare_caches(differences, here.caches, there.caches);
  return differences.take();
}

std::vector<Difference> data_differences(const DataManifest& here, const DataManifest& there) {
  Differences differences;
  const auto ours = by(&DataFile::path, here.files);
  const auto theirs = by(&DataFile::path, there.files);
  const auto digest_in = [](const DataFile* file) { return file != nullptr ? Text(file->sha256) : std::nullopt; };
  for (const std::string& path : names_of(ours, theirs)) {
    const DataFile* their = in(theirs, path);
    differences.compare(DifferenceKind::kData, path, digest_in(in(ours, path)), digest_in(their),
                        their != nullptr ? Severity::kRed : Severity::kYellow);
  }
  return differences.take();
}

bool has_red(const std::vector<Difference>& differences) {
  return std::ranges::any_of(differences, [](const Difference& one) { return one.severity == Severity::kRed; });
}

}  // namespace anymps::lab::runbook::handoff
