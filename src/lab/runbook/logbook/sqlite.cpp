#include "lab/runbook/logbook/sqlite.h"

#include <sqlite3.h>

#include <chrono>
#include <cstring>
#include <exception>
#include <thread>

namespace anymps::lab::runbook::logbook {
namespace {

// How long a writer waits for another one. Transactions here are single rows.
constexpr int kBusyPatienceMs = 20'000;
constexpr int kPauseMs = 5;

std::string reason_of(sqlite3* database) {
  if (database == nullptr) return "out of memory";
  const int why = sqlite3_system_errno(database);
  return sqlite3_errmsg(database) + (why != 0 ? std::string(" (") + std::strerror(why) + ")" : "");
}

[[noreturn]] void fail(sqlite3* database) {
  const char* file = sqlite3_db_filename(database, nullptr);
  throw DatabaseError(file != nullptr ? file : "", reason_of(database));
}

}  // namespace

void Statement::Finalise::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Statement::Statement(sqlite3* database, std::string_view text) : database_(database) {
  sqlite3_stmt* made = nullptr;
  if (sqlite3_prepare_v2(database, text.data(), static_cast<int>(text.size()), &made, nullptr) != SQLITE_OK) {
    fail(database);
  }
  statement_.reset(made);
}

Statement& Statement::bind(std::string_view text) {
  // A view that was never given a text points nowhere, which SQLite would take for NULL.
  const char* begin = text.data() != nullptr ? text.data() : "";
  if (sqlite3_bind_text64(statement_.get(), ++bound_, begin, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8) != SQLITE_OK) {
    fail(database_);
  }
  return *this;
}

Statement& Statement::bind(std::int64_t number) {
  if (sqlite3_bind_int64(statement_.get(), ++bound_, number) != SQLITE_OK) fail(database_);
  return *this;
}

Statement& Statement::bind(double number) {
  if (sqlite3_bind_double(statement_.get(), ++bound_, number) != SQLITE_OK) fail(database_);
  return *this;
}

bool Statement::step() {
  const int result = sqlite3_step(statement_.get());
  if (result == SQLITE_ROW) return true;
  if (result != SQLITE_DONE) fail(database_);
  return false;
}

std::string Statement::text(int column) const {
  const auto* begin = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (begin == nullptr) return {};
  return {begin, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

std::int64_t Statement::number(int column) const { return sqlite3_column_int64(statement_.get(), column); }

std::optional<double> Statement::real(int column) const {
  if (sqlite3_column_type(statement_.get(), column) == SQLITE_NULL) return std::nullopt;
  return sqlite3_column_double(statement_.get(), column);
}

void Database::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

Database::Database(const std::filesystem::path& path) {
  sqlite3* made = nullptr;
  const int result =
      sqlite3_open_v2(path.c_str(), &made, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  handle_.reset(made);
  if (result != SQLITE_OK) throw DatabaseError(path.string(), reason_of(made));
  sqlite3_busy_timeout(made, kBusyPatienceMs);
}

void Database::execute(const char* text) {
  if (sqlite3_exec(handle_.get(), text, nullptr, nullptr, nullptr) != SQLITE_OK) fail(handle_.get());
}

void Database::log_ahead() {
  // Where two open a new file at once, each may hold what the other's change of the journal waits for; SQLite then says
  // busy at once, whatever the patience.
  for (int waited_ms = 0;; waited_ms += kPauseMs) {
    const int result = sqlite3_exec(handle_.get(), "PRAGMA journal_mode = WAL", nullptr, nullptr, nullptr);
    if (result == SQLITE_OK) return;
    if (result != SQLITE_BUSY || waited_ms >= kBusyPatienceMs) fail(handle_.get());
    std::this_thread::sleep_for(std::chrono::milliseconds(kPauseMs));
  }
}

std::int64_t Database::last_row() const { return sqlite3_last_insert_rowid(handle_.get()); }

Transaction::~Transaction() {
  if (!open_) return;
  try {
    database_.execute("ROLLBACK");
  } catch (const std::exception&) {
    // The error that brought us here is the one to tell; SQLite undoes what is left when it next opens the file.
    open_ = false;
  }
}

void Transaction::commit() {
  database_.execute("COMMIT");
  open_ = false;
}

}  // namespace anymps::lab::runbook::logbook
