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
struct NewestRun {
  std::int64_t run = 0;
  std::string verb;
  std::string started;
  json facts;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("run", self.run);
    fields("verb", self.verb);
    fields("started", self.started);
    fields("facts", self.facts);
  }
};

struct LoaderNotes {
  std::vector<CacheFolder> caches;
  std::optional<NewestRun> newest;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("caches", self.caches);
    fields("newest", self.newest);
  }
};

std::optional<NewestRun> newest_run(trial::Session& session) {
  for (const logbook::LoggedRun& run : session.logbook().runs("", 1000)) {
    if (run.id == session.run() || run.verb.starts_with("handoff") || run.state != logbook::RunState::kDone) continue;
    if (!same_script(run.command, session.command())) continue;
    return NewestRun{run.id, run.verb, run.started, run.facts};
  }
  return std::nullopt;
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

class Packing {
 public:
  Packing(const PackOptions& options, const trial::SessionOptions& session_options, trial::Session& session)
      : options_(options),
        session_options_(session_options),
        session_(session),
        parts_(command_parts(session.command())),
        program_(program_files(parts_, options.included)) {}

  PackDocument pack() {
    session_.progress().at(0.02, "asking the interpreter");
    environment_ = environment_here(parts_.python);
    environment_.load.reset();
    document_.bundle = options_.bundle;
    document_.left_out = program_.left_out;
    document_.withheld = environment_.withheld;
    gather_program();
    gather_data();
    find_golden();
    gather_services();
    add("loader.json", bundle_text(document::to_json(LoaderNotes{environment_.caches, newest_run(session_)})));
    if (!options_.profile.empty()) files_.push_back(profile_of(options_.profile, session_));
    for (const trial::RecorderFile& file : trial::recorder_files()) {
      add(std::string(trial::kRecorderFolder) + std::string(file.name), std::string(file.text));
    }
    write();
    return std::move(document_);
  }

 private:
  void add(std::string path, std::string text) { files_.push_back({std::move(path), {}, std::move(text)}); }

  void gather_program() {
    for (const std::string& path : program_.paths) {
      files_.push_back({std::string(kProgramFolder) + path, program_.root / path, {}});
    }
    for (auto& [name, text] : lockfiles(environment_, program_.root / program_.folder)) {
      document_.lockfiles.push_back(name);
      add(name, std::move(text));
    }
    add("environment.json", bundle_text(document::to_json(environment_)));
  }

  void gather_data() {
    if (session_options_.data.empty()) {
      document_.notes.emplace_back(
          "no data set was named (--data), so nobody can tell whether the other host has the same");
      return;
    }
    const DataManifest manifest = data_manifest(session_options_.data, [&](std::size_t done, std::size_t of) {
      session_.progress().at(0.05 + 0.45 * static_cast<double>(done) / static_cast<double>(of), "reading the data set");
    });
    add("data.manifest.json", bundle_text(document::to_json(manifest)));
    document_.data = {.path = manifest.path,
                      .sha256 = manifest.sha256,
                      .files = manifest.files.size(),
                      .bytes = manifest.bytes,
                      .packed = options_.with_data};
    if (!options_.with_data) return;
    for (auto& [path, place] : data_files(session_options_.data)) {
      files_.push_back({std::string(kDataFolder) + path, place, {}});
    }
  }

  CommandParts common_parts() const {
    CommandParts common = parts_;
    common.script = program_.script;
    return common;
  }

  void find_golden() {
    Golden& golden = document_.golden;
    golden.words = with_data_word(common_parts().without_python(), session_options_.data);
    golden.folder = program_.folder == "." ? "files" : std::string(kProgramFolder) + program_.folder;
    golden.given = session_.command();
    golden.owner = session_options_.owner;
    golden.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(made_)));
    if (!program_.commit.empty()) golden.commit = program_.commit;
    golden.modified = program_.modified;
    if (program_.modified) {
      document_.notes.emplace_back("tracked files differ from the commit; they are packed as they are now");
    }
    if (program_.commit.empty()) {
      document_.notes.emplace_back("the script is in no git repository; --include adds what it needs");
    }
  }

  void gather_services() {
    GoldenCommand service{{environment_.python.executable.value_or(parts_.python)},
                          (program_.root / program_.folder).lexically_normal().string(),
                          environment_.variables,
                          session_options_.owner,
                          parts_.script.back()};
    for (const std::string& word : common_parts().without_python()) service.words.push_back(word);
    add("golden.service", systemd_unit(service));
    add("golden.plist", launchd_plist(service));
  }

  Manifest manifest() const {
    Manifest manifest;
    manifest.golden = document_.golden;
    manifest.platform = environment_.platform;
    manifest.python = environment_.python.version;
    manifest.torch = environment_.torch;
    manifest.variables = environment_.variables;
    manifest.data = document_.data;
    manifest.left_out = program_.left_out;
    return manifest;
  }

  void write() {
    DigestBeside digest(options_.bundle);
    const WrittenBundle written = write_bundle(
        options_.bundle, manifest(), std::move(files_), made_,
        [&](std::uint64_t done, std::uint64_t of) {
          const auto total = static_cast<double>(std::max<std::uint64_t>(of, 1));
          session_.progress().at(0.5 + 0.5 * static_cast<double>(done) / total, "packing");
        },
        [&](const WrittenBundle& bundle) { digest.write(bundle.sha256); });
    digest.keep();
    document_.sha256 = written.sha256;
    document_.files = written.files;
    document_.bytes = written.bytes;
    document_.archive_bytes = fs::file_size(options_.bundle);
  }

  const PackOptions& options_;
  const trial::SessionOptions& session_options_;
  trial::Session& session_;
  const CommandParts parts_;
  const ProgramFiles program_;
  const std::int64_t made_ = time_of_packing();
  Environment environment_;
  std::vector<PackedFile> files_;
  PackDocument document_;
};

}  // namespace

PackDocument pack_handoff(const PackOptions& options, const trial::SessionOptions& session_options,
                          trial::Session& session) {
  return Packing(options, session_options, session).pack();
}

}  // namespace anymps::lab::runbook::handoff
