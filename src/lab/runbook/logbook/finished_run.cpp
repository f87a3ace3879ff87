#include "lab/runbook/logbook/finished_run.h"

#include <fmt/format.h>

#include <fstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "lab/base/json_text.h"
#include "lab/runbook/document/fields.h"

namespace anymps::lab::runbook::logbook {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// As it is in a text, or under a name of an object.
std::string name_of(const json& holder, const char* field) {
  const json& object = document::object_in(holder, field);
  return object.empty() ? document::words_in(holder, field) : document::words_in(object, "name");
}

std::vector<std::string> comparable_words(const json& document, const std::string& batch_argument) {
  std::vector<std::string> words;
  for (const json& word : document::list_in(document, "command")) words.push_back(document::in_words(word));
  if (!words.empty() && fs::path(words.front()).filename().string().starts_with("python")) words.erase(words.begin());
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!batch_argument.empty() && words[i] == batch_argument) {
      ++i;
    } else if (batch_argument.empty() || !words[i].starts_with(batch_argument + "=")) {
      kept.push_back(words[i].starts_with("./") ? words[i].substr(2) : words[i]);
    }
  }
  return kept;
}

// From the document itself, or from a run of the logbook that holds one.
bool take(const json& value, const std::string& name, std::vector<FinishedRun>& runs) {
  if (!value.is_object()) return false;
  const json& inner = document::object_in(value, "document");
  FinishedRun run;
  run.document = inner.empty() ? value : inner;
  if (run.verb().empty()) return false;
  run.name = name;
  run.folder = inner.empty() ? "" : document::words_in(value, "folder");
  if (!inner.empty() && !inner.contains("facts")) run.document["facts"] = document::object_in(value, "facts");
  runs.push_back(std::move(run));
  return true;
}

}  // namespace

std::string FinishedRun::verb() const { return document::words_in(document, "verb"); }

std::string FinishedRun::host() const {
  const json& facts = document::object_in(document, "facts");
  std::string host = name_of(facts, "host");
  if (host.empty()) host = document::words_in(facts, "hostname");
  if (!host.empty()) return host;
  // Without the architecture, which is another one for a translated interpreter on the same machine.
  const json& machine = document::object_in(facts, "machine");
  for (const char* field : {"cpu", "cores", "memory_bytes"}) host += document::words_in(machine, field) + " ";
  return host;
}

std::string FinishedRun::mac() const {
  const std::string mac = name_of(document, "mac");
  return mac.empty() ? name_of(document::object_in(document, "facts"), "mac") : mac;
}

bool FinishedRun::simulated() const {
  const json& facts = document::object_in(document, "facts");
  if (document::flag_in(document, "simulated") || document::flag_in(facts, "simulated") || !mac().empty()) return true;
  const std::string device = name_of(facts, "device");
  if (device.find("simulated") != std::string::npos || device.find("anymps") != std::string::npos) return true;
  // Only macOS has an mps of its own.
  const std::string system = document::words_in(document::object_in(facts, "machine"), "system");
  const bool elsewhere = !system.empty() && !system.starts_with("macOS") && !system.starts_with("Darwin");
  return elsewhere && (device.empty() || device.starts_with("mps"));
}

FinishedRun finished(const LoggedRun& run) {
  FinishedRun result{run.id, fmt::format("run {}", run.id), run.folder, run.key, run.document};
  // A document that was written by hand, or by an older version, may lack what the logbook knows.
  if (result.verb().empty()) result.document["verb"] = run.verb;
  if (!result.document.contains("command")) result.document["command"] = run.command;
  if (!result.document.contains("facts")) result.document["facts"] = run.facts;
  if (!result.document.contains("verdict")) result.document["verdict"] = document::verdict_text(run.verdict);
  return result;
}

std::vector<FinishedRun> finished_in(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw std::runtime_error(fmt::format("cannot read {}", file.string()));
  const json content = base::json_of(std::string(std::istreambuf_iterator<char>(stream), {}));
  if (content.is_discarded()) throw std::runtime_error(fmt::format("{} is no JSON", file.string()));
  const json& runs = document::list_in(content, "runs");
  const json& list = content.is_array() ? content : runs;
  const std::string name = file.stem().string();
  std::vector<FinishedRun> found;
  for (const json& one : list) take(one, fmt::format("{}, {}", name, found.size() + 1), found);
  if (found.empty()) take(content, name, found);
  if (found.empty()) {
    throw std::runtime_error(
        fmt::format("{} holds no document of the runbook: no object with a \"verb\"", file.string()));
  }
  return found;
}

bool same_command(const FinishedRun& one, const FinishedRun& other, const std::string& batch_argument) {
  if (!one.folder.empty() && !other.folder.empty() && one.folder != other.folder) return false;
  return comparable_words(one.document, batch_argument) == comparable_words(other.document, batch_argument);
}

}  // namespace anymps::lab::runbook::logbook
