#include "lab/runbook/handoff/environment_difference.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "lab/host/platform.h"
#include "lab/runbook/document/fields.h"

namespace anymps::lab::runbook::handoff {
namespace {

using nlohmann::json;

constexpr const char* kRedSeverity = "red";
constexpr const char* kYellowSeverity = "yellow";

// They install packages and take no part in a run.
constexpr std::array<std::string_view, 5> kInstallers = {"pip", "setuptools", "wheel", "uv", "virtualenv"};
// Where things are kept changes no result, and how fast it is the mounts tell.
constexpr std::array<std::string_view, 4> kPlaces = {"HF_", "TORCH_HOME", "XDG_", "ANYMPS"};

class Differences {
 public:
  void add(const char* kind, const std::string& name, const json& here, const json& there, const char* severity) {
    list_.push_back({{"kind", kind}, {"name", name}, {"here", here}, {"there", there}, {"severity", severity}});
  }
  void compare(const char* kind, const std::string& name, const json& here, const json& there, const char* severity) {
    if (here != there) add(kind, name, here, there, severity);
  }
  json take() { return std::move(list_); }

 private:
  json list_ = json::array();
};

std::string minor_version(const json& version) {
  const std::string text = version.is_string() ? version.get<std::string>() : "";
  return text.substr(0, text.find('.', text.find('.') + 1));
}

std::map<std::string, json> by(const char* key, const json& list) {
  std::map<std::string, json> all;
  if (!list.is_array()) return all;
  for (const json& one : list) {
    if (const json name = document::member(one, key); name.is_string()) all[name.get<std::string>()] = one;
  }
  return all;
}

std::set<std::string> names_of(const std::map<std::string, json>& one, const std::map<std::string, json>& other) {
  std::set<std::string> names;
  for (const auto& [name, value] : one) names.insert(name);
  for (const auto& [name, value] : other) names.insert(name);
  return names;
}

void compare_packages(Differences& differences, const json& here, const json& there) {
  const auto ours = by("name", here);
  const auto theirs = by("name", there);
  for (const std::string& name : names_of(ours, theirs)) {
    const bool installer = std::ranges::find(kInstallers, name) != kInstallers.end();
    const auto our = ours.find(name);
    const auto their = theirs.find(name);
    const json our_version = our != ours.end() ? document::member(our->second, "version") : json();
    const json their_version = their != theirs.end() ? document::member(their->second, "version") : json();
    if (our_version != their_version) {
      // More than the bundle has does no harm by itself.
      differences.add("package", name, our_version, their_version,
                      installer || their_version.is_null() ? kYellowSeverity : kRedSeverity);
      continue;
    }
    const json our_files = document::member(our->second, "record_sha256");
    const json their_files = document::member(their->second, "record_sha256");
    if (our_files.is_string() && their_files.is_string() && our_files != their_files) {
      differences.add("files of package", name, our_files, their_files, kYellowSeverity);
    }
  }
}

void compare_variables(Differences& differences, const json& here, const json& there) {
  std::set<std::string> names;
  for (const json* variables : {&here, &there}) {
    if (!variables->is_object()) continue;
    for (const auto& [name, value] : variables->items()) names.insert(name);
  }
  for (const std::string& name : names) {
    const bool place = std::ranges::any_of(kPlaces, [&](std::string_view prefix) { return name.starts_with(prefix); });
    differences.compare("variable", name, document::member(here, name.c_str()), document::member(there, name.c_str()),
                        place ? kYellowSeverity : kRedSeverity);
  }
}

bool is_remote_mount(const json& type) { return type.is_string() && host::is_network_mount(type.get<std::string>()); }

void compare_caches(Differences& differences, const json& here, const json& there) {
  const auto ours = by("name", here);
  for (const auto& [name, their] : by("name", there)) {
    const auto our = ours.find(name);
    if (our == ours.end()) continue;
    const json our_mount = document::member(our->second, "mount");
    const json their_mount = document::member(their, "mount");
    // A cache over the network that was on a disk is what makes another host slow.
    const bool worse = is_remote_mount(our_mount) && !is_remote_mount(their_mount);
    differences.compare("cache mount", name, our_mount, their_mount, worse ? kRedSeverity : kYellowSeverity);
  }
}

}  // namespace

json environment_differences(const json& here, const json& there) {
  Differences differences;
  const json our_platform = document::member(here, "platform");
  const json their_platform = document::member(there, "platform");
  differences.compare("platform", "architecture", document::member(our_platform, "machine"),
                      document::member(their_platform, "machine"), kRedSeverity);
  differences.compare("platform", "system", document::member(our_platform, "system"),
                      document::member(their_platform, "system"), kRedSeverity);
  for (const char* name : {"release", "cpu", "cores", "memory_bytes"}) {
    differences.compare("platform", name, document::member(our_platform, name), document::member(their_platform, name),
                        kYellowSeverity);
  }
  const json our_python = document::member(here, "python");
  const json their_python = document::member(there, "python");
  differences.compare("python", "implementation", document::member(our_python, "implementation"),
                      document::member(their_python, "implementation"), kRedSeverity);
  const json our_version = document::member(our_python, "version");
  const json their_version = document::member(their_python, "version");
  differences.compare("python", "version", our_version, their_version,
                      minor_version(our_version) == minor_version(their_version) ? kYellowSeverity : kRedSeverity);
  compare_packages(differences, document::member(here, "packages"), document::member(there, "packages"));
  const json our_torch = document::member(here, "torch");
  const json their_torch = document::member(there, "torch");
  // The version is compared among the packages; torch can also be there as no package.
  differences.compare("torch build", "version", document::member(our_torch, "version"),
                      document::member(their_torch, "version"), kRedSeverity);
  for (const char* name : {"cuda", "hip", "git"}) {
    differences.compare("torch build", name, document::member(our_torch, name), document::member(their_torch, name),
                        kRedSeverity);
  }
  compare_variables(differences, document::member(here, "variables"), document::member(there, "variables"));
  compare_caches(differences, document::member(here, "caches"), document::member(there, "caches"));
  return differences.take();
}

json data_differences(const json& here, const json& there) {
  Differences differences;
  const auto ours = by("path", document::member(here, "files"));
  const auto theirs = by("path", document::member(there, "files"));
  for (const std::string& path : names_of(ours, theirs)) {
    const auto our = ours.find(path);
    const auto their = theirs.find(path);
    differences.compare("data", path, our != ours.end() ? document::member(our->second, "sha256") : json(),
                        their != theirs.end() ? document::member(their->second, "sha256") : json(),
                        their != theirs.end() ? kRedSeverity : kYellowSeverity);
  }
  return differences.take();
}

bool has_red(const json& differences) {
  return std::ranges::any_of(differences,
                             [](const json& one) { return document::member(one, "severity") == kRedSeverity; });
}

}  // namespace anymps::lab::runbook::handoff
