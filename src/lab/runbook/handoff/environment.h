// The environment that a command runs in: interpreter, packages, variables, platform and caches, as one document that
// can be held against another host's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/runbook/document/described.h"

namespace anymps::lab::runbook::handoff {

struct Interpreter {
  std::optional<std::string> version;
  std::optional<std::string> implementation;
  std::optional<std::string> executable;
  std::optional<std::string> prefix;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("version", self.version);
    fields("implementation", self.implementation);
    fields("executable", self.executable);
    fields("prefix", self.prefix);
  }
};

struct Package {
  std::string name;
  std::optional<std::string> version;
  std::optional<std::string> record_sha256;   // of its files
  std::optional<std::string> archive_sha256;  // of what it was installed from
  bool editable = false;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("name", self.name);
    fields("version", self.version);
    fields("record_sha256", self.record_sha256);
    fields("archive_sha256", self.archive_sha256);
    fields("editable", self.editable);
  }
};

struct TorchBuild {
  std::optional<std::string> version;
  std::optional<std::string> cuda;
  std::optional<std::string> hip;
  std::optional<std::string> git;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("version", self.version);
    fields("cuda", self.cuda);
    fields("hip", self.hip);
    fields("git", self.git);
  }
};

struct HostPlatform {
  std::optional<std::string> system;
  std::optional<std::string> release;
  std::optional<std::string> machine;  // the architecture
  std::optional<std::string> cpu;
  std::optional<std::int64_t> cores;
  std::optional<std::uint64_t> memory_bytes;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("system", self.system);
    fields("release", self.release);
    fields("machine", self.machine);
    fields("cpu", self.cpu);
    fields("cores", self.cores);
    fields("memory_bytes", self.memory_bytes);
  }
};

// A folder of downloaded or compiled things.
struct CacheFolder {
  std::string name;  // of the variable that moves it
  std::optional<std::string> path;
  bool exists = false;
  std::optional<std::string> mount;  // the type of its file system
  std::vector<std::string> entries;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("name", self.name);
    fields("path", self.path);
    fields("exists", self.exists);
    fields("mount", self.mount);
    fields("entries", self.entries);
  }
};

struct Environment {
  Interpreter python;
  std::vector<Package> packages;
  std::optional<TorchBuild> torch;
  HostPlatform platform;
  std::map<std::string, std::string> variables;
  std::vector<std::string> withheld;  // variables that look like secrets
  std::vector<CacheFolder> caches;
  std::optional<double> load;  // of the minute in which it was asked; a bundle has none

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("python", self.python);
    fields("packages", self.packages);
    fields("torch", self.torch);
    fields("platform", self.platform);
    fields("variables", self.variables);
    fields("withheld", self.withheld);
    fields("caches", self.caches);
    fields.if_any("load", self.load);
  }
};

// The program that asks an interpreter about itself, its packages and its host; it prints one document, which is an
// Environment. It needs nothing but Python's own library, imports no torch, and runs on other hosts too.
std::string_view environment_question();

// Of what that program printed. Throws std::runtime_error that says what `who` answered where it is none.
Environment environment_from(const std::string& answer, const std::string& who);

// Of this host, with that interpreter.
Environment environment_here(const std::string& python);

}  // namespace anymps::lab::runbook::handoff
