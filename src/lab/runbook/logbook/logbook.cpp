#include "lab/runbook/logbook/logbook.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <stdexcept>

#include "lab/base/json_text.h"

namespace anymps::lab::runbook::logbook {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// "anyl" in ASCII, by which the file is known to be ours.
constexpr std::int64_t kApplication = 0x616e796c;
constexpr std::int64_t kLogbookVersion = 1;

constexpr const char* kTables = R"sql(
CREATE TABLE runs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  verb TEXT NOT NULL,
  key TEXT NOT NULL,
  state TEXT NOT NULL,
  verdict TEXT NOT NULL,
  started TEXT NOT NULL,
  ended TEXT NOT NULL DEFAULT '',
  command TEXT NOT NULL,
  folder TEXT NOT NULL,
  pid INTEGER NOT NULL,
  facts TEXT NOT NULL DEFAULT '{}',
  document TEXT
);
CREATE INDEX runs_by_key ON runs (verb, key);
CREATE TABLE parts (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  run INTEGER NOT NULL REFERENCES runs (id),
  name TEXT NOT NULL,
  at TEXT NOT NULL,
  result TEXT NOT NULL,
  UNIQUE (run, name)
);
CREATE TABLE samples (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  run INTEGER NOT NULL REFERENCES runs (id),
  at TEXT NOT NULL,
  sample TEXT NOT NULL
);
CREATE TABLE notes (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at TEXT NOT NULL,
  run INTEGER,
  kind TEXT NOT NULL,
  text TEXT NOT NULL,
  why TEXT NOT NULL
);
)sql";

constexpr const char* kRunColumns = "id, verb, key, state, verdict, started, ended, command, folder, facts, document";

std::string variable_or_empty(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

json parsed(const std::string& text) {
  json value = base::json_of(text);
  return value.is_discarded() ? json() : value;
}

// What the rest of the lab takes for an object, and nothing else that a damaged or forged row may hold.
json parsed_object(const std::string& text) {
  json value = parsed(text);
  return value.is_object() ? value : json();
}

const fs::path& with_folder(const fs::path& path) {
  std::error_code error;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  if (error) throw std::runtime_error(fmt::format("{}: {}", path.parent_path().string(), error.message()));
  return path;
}

RunState state_from(std::string_view text) { return document::enum_of<RunState>(text).value_or(RunState::kDone); }

LoggedRun run_in(const Statement& row) {
  LoggedRun run;
  run.id = row.number(0);
  run.verb = row.text(1);
  run.key = row.text(2);
  run.state = state_from(row.text(3));
  run.verdict = document::verdict_from(row.text(4));
  run.started = row.text(5);
  run.ended = row.text(6);
  for (const json& word : parsed(row.text(7))) {
    if (word.is_string()) run.command.push_back(word.get<std::string>());
  }
  run.folder = row.text(8);
  run.facts = parsed_object(row.text(9));
  run.document = parsed_object(row.text(10));
  return run;
}

bool is_alive(std::int64_t pid) { return pid > 0 && ::kill(static_cast<pid_t>(pid), 0) == 0; }

std::int64_t pragma(Database& database, const char* name) {
  Statement statement = database.prepare(fmt::format("PRAGMA {}", name));
  return statement.step() ? statement.number(0) : 0;
}

void make_tables(Database& database) {
  Transaction transaction(database);
  // Another process may have been first.
  if (pragma(database, "application_id") != kApplication) {
    database.execute(kTables);
    database.execute(fmt::format("PRAGMA application_id = {}", kApplication).c_str());
    database.execute(fmt::format("PRAGMA user_version = {}", kLogbookVersion).c_str());
  }
  transaction.commit();
}

}  // namespace

fs::path Logbook::default_path() {
  if (const std::string named = variable_or_empty("ANYMPS_LOGBOOK"); !named.empty()) return named;
  const std::string data = variable_or_empty("XDG_DATA_HOME");
  const fs::path folder = !data.empty() ? fs::path(data) : fs::path(variable_or_empty("HOME")) / ".local" / "share";
  return folder / "anymps" / "logbook.sqlite";
}

Logbook::Logbook(const fs::path& path) : path_(path), database_(with_folder(path)) {
  try {
    const bool empty = pragma(database_, "schema_version") == 0;
    if (!empty && pragma(database_, "application_id") != kApplication) {
      throw std::runtime_error("it is a database of another program");
    }
    if (pragma(database_, "user_version") > kLogbookVersion) {
      throw std::runtime_error("it was written by a newer anymps; this one cannot read it");
    }
    database_.log_ahead();
    // A run that was told to be logged is on the disk, even if the power goes.
    database_.execute("PRAGMA synchronous = FULL");
    if (empty) make_tables(database_);
  } catch (const DatabaseError& error) {
    throw std::runtime_error(fmt::format("the logbook {} cannot be used: {}", path.string(), error.reason()));
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(fmt::format("the logbook {} cannot be used: {}", path.string(), error.what()));
  }
}

std::int64_t Logbook::begin(std::string_view verb, std::string_view key, const std::vector<std::string>& command) {
  std::error_code error;
  database_
      .prepare("INSERT INTO runs (verb, key, state, verdict, started, command, folder, pid) VALUES (?,?,?,?,?,?,?,?)")
      .bind(verb)
      .bind(key)
      .bind(document::word_of(RunState::kRunning))
      .bind(document::verdict_text(document::Verdict::kUnknown))
      .bind(utc_now())
      .bind(base::json_line(json(command)))
      .bind(fs::current_path(error).string())
      .bind(std::int64_t{::getpid()})
      .run();
  return database_.last_row();
}

std::optional<std::int64_t> Logbook::unfinished(std::string_view verb, std::string_view key) {
  Statement rows =
      database_.prepare("SELECT id, pid FROM runs WHERE verb = ? AND key = ? AND state != ? ORDER BY id DESC");
  rows.bind(verb).bind(key).bind(document::word_of(RunState::kDone));
  while (rows.step()) {
    if (const std::int64_t pid = rows.number(1); pid == ::getpid() || !is_alive(pid)) return rows.number(0);
  }
  return std::nullopt;
}

void Logbook::take_over(std::int64_t run) {
  database_.prepare("UPDATE runs SET pid = ?, state = ? WHERE id = ?")
      .bind(std::int64_t{::getpid()})
      .bind(document::word_of(RunState::kRunning))
      .bind(run)
      .run();
}

void Logbook::put_part(std::int64_t run, std::string_view name, const json& result) {
  database_.prepare("INSERT OR REPLACE INTO parts (run, name, at, result) VALUES (?,?,?,?)")
      .bind(run)
      .bind(name)
      .bind(utc_now())
      .bind(base::json_line(result))
      .run();
}

std::vector<std::pair<std::string, json>> Logbook::parts(std::int64_t run) {
  std::vector<std::pair<std::string, json>> all;
  Statement rows = database_.prepare("SELECT name, result FROM parts WHERE run = ? ORDER BY id");
  rows.bind(run);
  while (rows.step()) all.emplace_back(rows.text(0), parsed(rows.text(1)));
  return all;
}

void Logbook::put_sample(std::int64_t run, const json& sample) {
  database_.prepare("INSERT INTO samples (run, at, sample) VALUES (?,?,?)")
      .bind(run)
      .bind(utc_now())
      .bind(base::json_line(sample))
      .run();
}

std::vector<json> Logbook::samples(std::int64_t run) {
  std::vector<json> all;
  Statement rows = database_.prepare("SELECT at, sample FROM samples WHERE run = ? ORDER BY id");
  rows.bind(run);
  while (rows.step()) {
    json sample = parsed(rows.text(1));
    if (!sample.is_object()) sample = json::object();  // a row without content
    sample["at"] = rows.text(0);
    all.push_back(std::move(sample));
  }
  return all;
}

void Logbook::put_facts(std::int64_t run, const json& facts) {
  Transaction transaction(database_);
  json merged;
  {
    Statement row = database_.prepare("SELECT facts FROM runs WHERE id = ?");
    row.bind(run);
    if (row.step()) merged = parsed(row.text(0));
  }
  if (!merged.is_object()) merged = json::object();
  merged.update(facts);
  database_.prepare("UPDATE runs SET facts = ? WHERE id = ?").bind(base::json_line(merged)).bind(run).run();
  transaction.commit();
}

void Logbook::interrupt(std::int64_t run) {
  database_.prepare("UPDATE runs SET state = ?, pid = 0 WHERE id = ?")
      .bind(document::word_of(RunState::kInterrupted))
      .bind(run)
      .run();
}

void Logbook::finish(std::int64_t run, document::Verdict verdict, const json& document) {
  database_.prepare("UPDATE runs SET state = ?, verdict = ?, ended = ?, document = ?, pid = 0 WHERE id = ?")
      .bind(document::word_of(RunState::kDone))
      .bind(document::verdict_text(verdict))
      .bind(utc_now())
      .bind(base::json_line(document))
      .bind(run)
      .run();
}

std::vector<LoggedRun> Logbook::runs(std::string_view verb, std::int64_t limit) {
  std::vector<LoggedRun> all;
  Statement rows =
      database_.prepare(fmt::format("SELECT {} FROM runs WHERE ? IN ('', verb) ORDER BY id DESC LIMIT ?", kRunColumns));
  rows.bind(verb).bind(limit);
  while (rows.step()) all.push_back(run_in(rows));
  return all;
}

std::optional<LoggedRun> Logbook::run(std::int64_t id) {
  Statement row = database_.prepare(fmt::format("SELECT {} FROM runs WHERE id = ?", kRunColumns));
  row.bind(id);
  if (!row.step()) return std::nullopt;
  return run_in(row);
}

void Logbook::put_note(std::int64_t run, std::string_view kind, std::string_view text, std::string_view why) {
  database_.prepare("INSERT INTO notes (at, run, kind, text, why) VALUES (?,?,?,?,?)")
      .bind(utc_now())
      .bind(run)
      .bind(kind)
      .bind(text)
      .bind(why)
      .run();
}

std::vector<LoggedNote> Logbook::notes(std::string_view kind) {
  std::vector<LoggedNote> all;
  Statement rows =
      database_.prepare("SELECT id, at, run, kind, text, why FROM notes WHERE ? IN ('', kind) ORDER BY id");
  rows.bind(kind);
  while (rows.step()) {
    all.push_back({rows.number(0), rows.text(1), rows.number(2), rows.text(3), rows.text(4), rows.text(5)});
  }
  return all;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

}  // namespace anymps::lab::runbook::logbook
