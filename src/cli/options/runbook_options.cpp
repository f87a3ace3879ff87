#include "cli/options/runbook_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/options/traced_run.h"
#include "cli/options/verb.h"
#include "lab/base/json_text.h"
#include "lab/base/log.h"
#include "lab/base/safe_text.h"
#include "lab/host/child.h"
#include "lab/runbook/verbs/verbs.h"

namespace anymps::cli::options {

void add_reading_options(CLI::App& verb, lab::runbook::trial::SessionOptions& options) {
  verb.add_flag("--json", options.json, "Print one JSON document, and nothing else, on standard output");
  verb.add_option("--logbook", options.logbook, "The logbook (default: $ANYMPS_LOGBOOK, else one for this user)")
      ->type_name("FILE");
}

void add_session_options(CLI::App& verb, lab::runbook::trial::SessionOptions& options) {
  add_reading_options(verb, options);
  verb.add_flag("--fresh", options.fresh, "Begin anew where the same command was interrupted before");
  verb.add_flag("--quiet", options.quiet, "Show no progress");
  verb.add_option("--data", options.data, "The data set, a file or folder: its checksum goes into the logbook")
      ->type_name("PATH");
  verb.add_option("--artifact-store", options.artifact_store, "A host: the time to it and back goes into the logbook")
      ->type_name("HOST");
  verb.add_option("--resolution", options.resolution, "What the logbook notes as resolution, such as 224x224")
      ->type_name("TEXT");
  verb.add_option("--owner", options.owner, "Who answers for this command")->type_name("NAME");
}

int conclude(const lab::runbook::trial::SessionOptions& options, const nlohmann::json& document, const Screen& screen) {
  if (options.json) {
    lab::base::print_text(stdout, lab::base::json_pages(document));
  } else {
    lab::base::print_screen(stdout, screen(document, lab::base::Terminal::behind(STDOUT_FILENO)));
  }
  return document.value("status", kUsageError);
}

int conclude(const lab::runbook::trial::SessionOptions& options, const nlohmann::json& document) {
  return conclude(options, document, lab::runbook::verbs::verb_named(document.at("verb").get<std::string>())->screen);
}

int guarded(const std::function<int()>& command) {
  try {
    return command();
  } catch (const lab::host::Interrupted&) {
    lab::base::log().warn("interrupted; what was finished is in the logbook, and the same command goes on from there");
  } catch (const AlreadyTold&) {
    return kUsageError;
  } catch (const std::exception& error) {
    lab::base::log().error(error.what());
  }
  return kUsageError;
}

}  // namespace anymps::cli::options
