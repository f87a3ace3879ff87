// One command of the runbook at work: its run in the logbook, its parts that need not be done twice, its progress and
// its end.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "lab/runbook/document/verdict.h"
#include "lab/runbook/logbook/logbook.h"
#include "lab/runbook/screen/progress.h"

namespace anymps::lab::runbook::trial {

// What every command takes.
struct SessionOptions {
  std::string logbook;  // empty: the default
  bool fresh = false;   // do not go on with an unfinished run
  bool json = false;    // one document on standard output, nothing else there
  bool quiet = false;   // no progress
  // Circumstances that only the user can tell or name.
  std::string data;            // a file or folder: the data set
  std::string artifact_store;  // a host
  std::string resolution;
  std::string owner;
};

class Session {
 public:
  // Begins a run, or goes on with the one that the same command with the same settings left unfinished. Throws
  // std::runtime_error where there is no logbook to be had.
  Session(std::string verb, const SessionOptions& options, std::vector<std::string> command,
          const nlohmann::json& settings);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  std::int64_t run() const { return run_; }
  logbook::Logbook& logbook() { return logbook_; }
  screen::Progress& progress() { return progress_; }
  const std::vector<std::string>& command() const { return command_; }

  // The result of a part: from the logbook where it is there, else made now and put there. What `make` throws, no part
  // comes of.
  nlohmann::json part(const std::string& name, const std::function<nlohmann::json()>& make);

  void put_facts(const nlohmann::json& facts) { logbook_.put_facts(run_, facts); }

  // Completes the document with what all have (version, verb, run, verdict, command, facts), and ends the run with it.
  nlohmann::json finish(document::Verdict verdict, nlohmann::json document);

 private:
  std::string verb_;
  std::vector<std::string> command_;
  logbook::Logbook logbook_;
  std::int64_t run_ = 0;
  nlohmann::json parts_ = nlohmann::json::object();
  screen::Progress progress_;
  bool finished_ = false;
};

}  // namespace anymps::lab::runbook::trial
