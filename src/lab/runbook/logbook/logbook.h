// The logbook: one SQLite file to which every command of the runbook appends what it ran, under which circumstances,
// and what came of it.
//
// A run is begun, gets its parts one after the other, each in a transaction of its own, and is finished. A run that was
// interrupted or killed stays unfinished, with the parts that it has: the same command goes on from there. The file is
// in write-ahead mode, so that neither a kill nor a reader beside the writer harms it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/runbook/document/enum_words.h"
#include "lab/runbook/document/verdict.h"
#include "lab/runbook/logbook/sqlite.h"

namespace anymps::lab::runbook::logbook {

enum class RunState { kRunning, kInterrupted, kDone };

constexpr document::EnumWord<RunState> kRunStateWords[] = {
    {RunState::kRunning, "running"}, {RunState::kInterrupted, "interrupted"}, {RunState::kDone, "done"}};
constexpr std::span<const document::EnumWord<RunState>> words_of(RunState /*value*/) { return kRunStateWords; }

struct LoggedRun {
  std::int64_t id = 0;
  std::string verb;
  std::string key;  // of the command with its settings
  RunState state = RunState::kRunning;
  document::Verdict verdict = document::Verdict::kUnknown;
  std::string started;  // UTC, "2026-11-17T02:20:48Z"
  std::string ended;    // empty while it is unfinished
  std::vector<std::string> command;
  std::string folder;       // in which it was started
  nlohmann::json facts;     // the circumstances, by name
  nlohmann::json document;  // what --json prints; null while unfinished

  // All but the key, which is for the logbook alone.
  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("id", self.id);
    fields("verb", self.verb);
    fields("state", self.state);
    fields("verdict", self.verdict);
    fields("started", self.started);
    fields("ended", self.ended);
    fields("command", self.command);
    fields("folder", self.folder);
    fields("facts", self.facts);
    fields("document", self.document);
  }
};

// What was written down beside the runs: "rejected" hypotheses, "note"s.
struct LoggedNote {
  std::int64_t id = 0;
  std::string at;
  std::int64_t run = 0;  // 0: of none
  std::string kind;
  std::string text;
  std::string why;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("id", self.id);
    fields("at", self.at);
    fields("run", self.run);
    fields("kind", self.kind);
    fields("text", self.text);
    fields("why", self.why);
  }
};

class Logbook {
 public:
  // $ANYMPS_LOGBOOK, else logbook.sqlite in the user's data folder ($XDG_DATA_HOME/anymps).
  static std::filesystem::path default_path();

  // Opened, or made with its folder. Throws std::runtime_error that names the file where it is none of ours, or of a
  // newer version.
  explicit Logbook(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }

  std::int64_t begin(std::string_view verb, std::string_view key, const std::vector<std::string>& command);
  // The latest run of that verb and key that is not done, and that no living process works on.
  std::optional<std::int64_t> unfinished(std::string_view verb, std::string_view key);
  // This process works on it now.
  void take_over(std::int64_t run);

  void put_part(std::int64_t run, std::string_view name, const nlohmann::json& result);
  // In the order in which they were put.
  std::vector<std::pair<std::string, nlohmann::json>> parts(std::int64_t run);

  // Thermal state, swap and the like, as they were at that moment.
  void put_sample(std::int64_t run, const nlohmann::json& sample);
  std::vector<nlohmann::json> samples(std::int64_t run);

  // Adds to the facts of the run; what it has by the same names is replaced.
  void put_facts(std::int64_t run, const nlohmann::json& facts);

  void interrupt(std::int64_t run);
  void finish(std::int64_t run, document::Verdict verdict, const nlohmann::json& document);

  // Newest first; `verb` empty: of all.
  std::vector<LoggedRun> runs(std::string_view verb = {}, std::int64_t limit = 50);
  std::optional<LoggedRun> run(std::int64_t id);

  void put_note(std::int64_t run, std::string_view kind, std::string_view text, std::string_view why);
  std::vector<LoggedNote> notes(std::string_view kind = {});

 private:
  std::filesystem::path path_;
  Database database_;
};

// Now, as the logbook writes times.
std::string utc_now();

}  // namespace anymps::lab::runbook::logbook
