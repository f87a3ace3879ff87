#include "lab/runbook/trial/session.h"

#include <exception>
#include <span>
#include <utility>

#include "gpu/support/sha256.h"
#include "lab/base/json_text.h"
#include "lab/base/log.h"
#include "lab/runbook/trial/circumstances.h"

namespace anymps::lab::runbook::trial {
namespace {

using nlohmann::json;

// Of what makes two calls the same work.
std::string key_of(const std::vector<std::string>& command, const json& settings) {
  const std::string text = base::json_line({command, settings});
  gpu::support::Sha256 hash;
  hash.update(std::as_bytes(std::span(text)));
  return gpu::support::hex_of(hash.finish()).substr(0, 32);
}

}  // namespace

Session::Session(std::string verb, const SessionOptions& options, std::vector<std::string> command,
                 const json& settings)
    : verb_(std::move(verb)),
      command_(std::move(command)),
      logbook_(options.logbook.empty() ? logbook::Logbook::default_path() : std::filesystem::path(options.logbook)),
      progress_(verb_, !options.quiet) {
  const std::string key = key_of(command_, settings);
  const auto left = options.fresh ? std::nullopt : logbook_.unfinished(verb_, key);
  if (left) {
    run_ = *left;
    logbook_.take_over(run_);
    for (auto& [name, result] : logbook_.parts(run_)) parts_[name] = std::move(result);
    if (!parts_.empty()) {
      base::log().info("going on with run {}, which has {} of its parts (--fresh begins anew)", run_, parts_.size());
    }
  } else {
    run_ = logbook_.begin(verb_, key, command_);
  }
  logbook_.put_facts(run_, circumstances({options.data, options.artifact_store, options.resolution, options.owner}));
  logbook_.put_facts(run_, {{"settings", settings}});
}

Session::~Session() {
  if (finished_) return;
  try {
    logbook_.interrupt(run_);
  } catch (const std::exception& error) {
    base::log().error("the logbook does not know that run {} was interrupted: {}", run_, error.what());
  }
}

json Session::part(const std::string& name, const std::function<json()>& make) {
  if (const auto found = parts_.find(name); found != parts_.end()) return *found;
  json result = make();
  logbook_.put_part(run_, name, result);
  logbook_.put_sample(run_, conditions_now());
  parts_[name] = result;
  return result;
}

json Session::finish(document::Verdict verdict, json document) {
  progress_.clear();
  document["version"] = 1;
  document["verb"] = verb_;
  document["run"] = run_;
  document["verdict"] = document::verdict_text(verdict);
  document["status"] = document::exit_status(verdict);
  document["command"] = command_;
  document["facts"] = logbook_.run(run_).value_or(logbook::LoggedRun{}).facts;
  document["samples"] = logbook_.samples(run_);
  logbook_.finish(run_, verdict, document);
  finished_ = true;
  return document;
}

}  // namespace anymps::lab::runbook::trial
