// SQLite in the words of this house: a file, a statement with its values, and errors as exceptions.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

struct sqlite3;
struct sqlite3_stmt;

namespace anymps::lab::runbook::logbook {

// What SQLite says, with the file's name before it and, where the system said why, with that behind it.
class DatabaseError : public std::runtime_error {
 public:
  DatabaseError(const std::string& file, std::string reason)
      : std::runtime_error(file + ": " + reason), reason_(std::move(reason)) {}
  const std::string& reason() const { return reason_; }  // without the name

 private:
  std::string reason_;
};

class Statement {
 public:
  Statement(sqlite3* database, std::string_view text);

  // Values for the question marks, in their order.
  Statement& bind(std::string_view text);
  Statement& bind(std::int64_t number);
  Statement& bind(double number);

  // Whether there is a row; runs the statement where it has none to give. Throws DatabaseError.
  bool step();
  void run() {
    while (step()) {
    }
  }

  // Of the row that step() came to, counted from 0.
  std::string text(int column) const;
  std::int64_t number(int column) const;
  std::optional<double> real(int column) const;

 private:
  struct Finalise {
    void operator()(sqlite3_stmt* statement) const;
  };
  sqlite3* database_;
  std::unique_ptr<sqlite3_stmt, Finalise> statement_;
  int bound_ = 0;
};

class Database {
 public:
  // Made where there is none. Waits for others who write. Throws DatabaseError, as all else here.
  explicit Database(const std::filesystem::path& path);

  Statement prepare(std::string_view text) { return {handle_.get(), text}; }
  void execute(const char* text);
  // Changes go to a log beside the file before they go into it, so that readers need not wait for a writer.
  void log_ahead();
  std::int64_t last_row() const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::unique_ptr<sqlite3, Close> handle_;
};

// All or nothing: undone where commit() was not reached.
class Transaction {
 public:
  explicit Transaction(Database& database) : database_(database) { database_.execute("BEGIN IMMEDIATE"); }
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace anymps::lab::runbook::logbook
