#include "lab/runbook/handoff/lockfile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

#include "lab/base/file_text.h"
#include "lab/base/json_text.h"
#include "lab/host/quiet_child.h"

namespace anymps::lab::runbook::handoff {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// uv writes its version into the environments that it makes.
bool made_by_uv(const fs::path& prefix) {
  std::ifstream file(prefix / "pyvenv.cfg");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("uv =") || line.starts_with("uv=")) return true;
  }
  return false;
}

fs::path found_above(fs::path folder, const char* name) {
  while (true) {
    std::error_code error;
    if (fs::is_regular_file(folder / name, error)) return folder / name;
    // A repository's root ends the search: what lies above is another project's.
    if (fs::exists(folder / ".git", error) || !folder.has_relative_path()) return {};
    folder = folder.parent_path();
  }
}

}  // namespace

std::string requirements_lock(const Environment& environment) {
  const bool all_hashed =
      !environment.packages.empty() &&
      std::ranges::all_of(environment.packages, [](const Package& one) { return one.archive_sha256.has_value(); });
  std::string text =
      fmt::format("# Python {}. Written by anymps handoff pack.\n", environment.python.version.value_or(""));
  for (const Package& one : environment.packages) {
    const std::string pin = fmt::format("{}=={}", one.name, one.version.value_or(""));
    if (one.editable) {
      text += fmt::format("# {} is installed in place, from a checkout\n", pin);
      continue;
    }
    text += pin;
    if (one.archive_sha256) {
      text += fmt::format("{}--hash=sha256:{}", all_hashed ? " " : "  # ", *one.archive_sha256);
    } else if (one.record_sha256) {
      text += fmt::format("  # record sha256:{}", *one.record_sha256);
    }
    text += "\n";
  }
  return text;
}

std::string conda_explicit(const fs::path& prefix) {
  std::vector<std::string> lines;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(prefix / "conda-meta", error)) {
    if (entry.path().extension() != ".json") continue;
    const json record = base::json_of(base::file_text(entry.path()));
    if (!record.is_object() || !record.contains("url") || !record["url"].is_string()) continue;
    std::string line = record["url"].get<std::string>();
    if (record.contains("md5") && record["md5"].is_string()) line += "#" + record["md5"].get<std::string>();
    lines.push_back(std::move(line));
  }
  if (lines.empty()) return {};
  std::ranges::sort(lines);
  return fmt::format("# conda create --name NAME --file FILE\n@EXPLICIT\n{}\n", fmt::join(lines, "\n"));
}

std::map<std::string, std::string> lockfiles(const Environment& environment, const fs::path& folder) {
  std::map<std::string, std::string> files;
  files["requirements.lock"] = requirements_lock(environment);
  const fs::path lock = found_above(fs::absolute(folder).lexically_normal(), "uv.lock");
  if (!lock.empty()) files["uv.lock"] = base::file_text(lock);
  const Interpreter& python = environment.python;
  if (!lock.empty() || made_by_uv(python.prefix.value_or(""))) {
    if (const auto frozen = host::quiet_output({"uv", "pip", "freeze", "--python", python.executable.value_or("")})) {
      files["uv-freeze.txt"] = *frozen;
    }
  }
  if (const char* conda = std::getenv("CONDA_PREFIX"); conda != nullptr && *conda != '\0') {
    if (const std::string list = conda_explicit(conda); !list.empty()) files["conda-explicit.txt"] = list;
  }
  return files;
}

}  // namespace anymps::lab::runbook::handoff
