#include "lab/runbook/handoff/pack.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "gpu/support/whole_file.h"
#include "gpu/support/whole_number.h"
#include "lab/runbook/handoff/bundle.h"
#include "lab/runbook/handoff/bundle_writer.h"
#include "lab/runbook/handoff/data_manifest.h"
#include "lab/runbook/handoff/environment.h"
#include "lab/runbook/handoff/golden_command.h"
#include "lab/runbook/handoff/lockfile.h"
#include "lab/runbook/handoff/service_units.h"
#include "lab/runbook/trial/recorder_files.h"

namespace anymps::lab::runbook::handoff {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// The time that the bundle bears: now, or what builds that are to come out the same twice name.
std::int64_t time_of_packing() {
  if (const char* named = std::getenv("SOURCE_DATE_EPOCH"); named != nullptr) {
    if (const auto seconds = gpu::support::whole_number<std::int64_t>(named)) return *seconds;
  }
  return std::time(nullptr);
}

// The newest run of the same command: how its loaders and caches were.
json circumstances_of(trial::Session& session) {
  for (const logbook::LoggedRun& run : session.logbook().runs("", 1000)) {
    if (run.id == session.run() || run.verb.starts_with("handoff") || run.state != logbook::RunState::kDone) continue;
    if (!same_script(run.command, session.command())) continue;
    return {{"run", run.id}, {"verb", run.verb}, {"started", run.started}, {"facts", run.facts}};
  }
  return nullptr;
}

PackedFile profile_of(const std::string& profile, trial::Session& session) {
  std::error_code error;
  if (fs::is_regular_file(profile, error)) return {"profile/" + fs::path(profile).filename().string(), profile, {}};
  const auto number = gpu::support::whole_number<std::int64_t>(profile);
  const auto run = number ? session.logbook().run(*number) : std::nullopt;
  if (!run || run->document.is_null()) {
    throw std::runtime_error(fmt::format("--profile: {} is neither a file nor a finished run of the logbook", profile));
  }
  return {fmt::format("profile/run-{}.json", run->id), {}, bundle_text(run->document)};
}

// The digest beside a bundle, which must not be that of another one: written before the bundle has its name, and put
// back as it was where it does not get it.
class DigestBeside {
 public:
  explicit DigestBeside(const std::string& bundle)
      : path_(bundle + ".sha256"), before_(gpu::support::read_whole(path_)) {}
  ~DigestBeside() {
    if (!written_ || put_back()) return;
    std::error_code ignored;
    fs::remove(path_, ignored);  // none is better than a wrong one
  }
  DigestBeside(const DigestBeside&) = delete;
  DigestBeside& operator=(const DigestBeside&) = delete;

  // As sha256sum reads it in the folder of the unpacked bundle.
  void write(const std::string& sha256) {
    gpu::support::write_whole(path_, fmt::format("{}  {}\n", sha256, kManifestName));
    written_ = true;
  }
  void keep() { written_ = false; }

 private:
  bool put_back() const {
    try {
      if (before_) gpu::support::write_whole(path_, *before_);
      return before_.has_value();
    } catch (const std::runtime_error&) {
      return false;
    }
  }

  fs::path path_;
  std::optional<std::string> before_;
  bool written_ = false;
};

std::map<std::string, std::string> texts_in(const json& object) {
  std::map<std::string, std::string> texts;
  for (const auto& [name, value] : object.items()) texts[name] = value.get<std::string>();
  return texts;
}

}  // namespace

json pack_handoff(const PackOptions& options, const trial::SessionOptions& session_options, trial::Session& session) {
  screen::Progress& progress = session.progress();
  const CommandParts parts = command_parts(session.command());
  const ProgramFiles program = program_files(parts, options.included);
  progress.at(0.02, "asking the interpreter");
  json environment = environment_here(parts.python);
  environment.erase("load");  // of this minute
  const std::int64_t made = time_of_packing();
  json notes = json::array();

  std::vector<PackedFile> files;
  for (const std::string& path : program.paths) {
    files.push_back({std::string(kProgramFolder) + path, program.root / path, {}});
  }
  json lock_names = json::array();
  for (auto& [name, text] : lockfiles(environment, program.root / program.folder)) {
    lock_names.push_back(name);
    files.push_back({name, {}, std::move(text)});
  }
  files.push_back({"environment.json", {}, bundle_text(environment)});

  json data = nullptr;
  if (!session_options.data.empty()) {
    const json manifest = data_manifest(session_options.data, [&](std::size_t done, std::size_t of) {
      progress.at(0.05 + 0.45 * static_cast<double>(done) / static_cast<double>(of), "reading the data set");
    });
    files.push_back({"data.manifest.json", {}, bundle_text(manifest)});
    data = {{"path", manifest["path"]},
            {"sha256", manifest["sha256"]},
            {"files", manifest["files"].size()},
            {"bytes", manifest["bytes"]},
            {"packed", options.with_data}};
    if (options.with_data) {
      for (auto& [path, place] : data_files(session_options.data)) {
        files.push_back({std::string(kDataFolder) + path, place, {}});
      }
    }
  } else {
    notes.push_back("no data set was named (--data), so nobody can tell whether the other host has the same");
  }

  CommandParts common = parts;
  common.script = program.script;
  const json golden = {{"words", with_data_word(common.without_python(), session_options.data)},
                       {"folder", program.folder == "." ? "files" : std::string(kProgramFolder) + program.folder},
                       {"given", session.command()},
                       {"owner", session_options.owner},
                       {"date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(made)))},
                       {"commit", program.commit.empty() ? json() : json(program.commit)},
                       {"modified", program.modified}};
  if (program.modified) notes.push_back("tracked files differ from the commit; they are packed as they are now");
  if (program.commit.empty()) notes.push_back("the script is in no git repository; --include adds what it needs");

  GoldenCommand service{{environment["python"].value("executable", parts.python)},
                        (program.root / program.folder).lexically_normal().string(),
                        texts_in(environment["variables"]),
                        session_options.owner,
                        parts.script.back()};
  for (const std::string& word : common.without_python()) service.words.push_back(word);
  files.push_back({"golden.service", {}, systemd_unit(service)});
  files.push_back({"golden.plist", {}, launchd_plist(service)});

  files.push_back(
      {"loader.json", {}, bundle_text({{"caches", environment["caches"]}, {"newest", circumstances_of(session)}})});
  if (!options.profile.empty()) files.push_back(profile_of(options.profile, session));
  for (const trial::RecorderFile& file : trial::recorder_files()) {
    files.push_back({std::string(trial::kRecorderFolder) + std::string(file.name), {}, std::string(file.text)});
  }

  json left_out = json::array();
  for (const auto& [path, why] : program.left_out) left_out.push_back({{"path", path}, {"why", why}});
  const json manifest = {{"golden", golden},
                         {"platform", environment["platform"]},
                         {"python", environment["python"]["version"]},
                         {"torch", environment["torch"]},
                         {"variables", environment["variables"]},
                         {"data", data},
                         {"left_out", left_out}};
  DigestBeside digest(options.bundle);
  const WrittenBundle written = write_bundle(
      options.bundle, manifest, std::move(files), made,
      [&](std::uint64_t done, std::uint64_t of) {
        progress.at(0.5 + 0.5 * static_cast<double>(done) / static_cast<double>(std::max<std::uint64_t>(of, 1)),
                    "packing");
      },
      [&](const WrittenBundle& bundle) { digest.write(bundle.sha256); });
  digest.keep();
  return {{"bundle", options.bundle},
          {"sha256", written.sha256},
          {"files", written.files},
          {"bytes", written.bytes},
          {"archive_bytes", fs::file_size(options.bundle)},
          {"golden", golden},
          {"lockfiles", lock_names},
          {"left_out", left_out},
          {"withheld", environment["withheld"]},
          {"data", data},
          {"notes", notes}};
}

}  // namespace anymps::lab::runbook::handoff
