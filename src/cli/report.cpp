#include "lab/runbook/report/report.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "cli/options/runbook_options.h"
#include "cli/options/traced_run.h"
#include "cli/verbs.h"
#include "gpu/support/whole_number.h"

namespace anymps::cli {
namespace {

// More than anybody looks through for the evidence of a figure.
constexpr std::int64_t kMostRuns = 1000;

struct ReportOptions {
  lab::runbook::trial::SessionOptions session;
  std::vector<std::string> runs;
  std::vector<std::string> from;
  std::string output = "report.html";
  bool last = false;
  bool side_by_side = false;
};

// Reading makes no logbook where there is none.
std::optional<lab::runbook::logbook::Logbook> logbook_of(const ReportOptions& options) {
  const std::filesystem::path path = options.session.logbook.empty() ? lab::runbook::logbook::Logbook::default_path()
                                                                     : std::filesystem::path(options.session.logbook);
  std::error_code error;
  if (std::filesystem::exists(path, error)) return lab::runbook::logbook::Logbook(path);
  if (options.from.empty() || !options.runs.empty() || options.last || !options.session.logbook.empty()) {
    throw std::runtime_error(
        fmt::format("there is no logbook at {}: run a command of the runbook first", path.string()));
  }
  return std::nullopt;
}

lab::runbook::logbook::FinishedRun finished_run(const std::string& word, lab::runbook::logbook::Logbook& logbook,
                                                const std::vector<lab::runbook::logbook::FinishedRun>& all) {
  if (word == "last") {
    if (all.empty()) throw std::runtime_error("the logbook has no finished run yet");
    return all.front();
  }
  const auto number = gpu::support::whole_number(word);
  if (!number) throw std::runtime_error(fmt::format("`{}` is neither the number of a run nor `last`", word));
  const auto run = logbook.run(static_cast<std::int64_t>(*number));
  if (!run) throw std::runtime_error(fmt::format("the logbook has no run {}", word));
  if (run->state != lab::runbook::logbook::RunState::kDone) {
    throw std::runtime_error(
        fmt::format("run {} is not finished: the same `anymps {}` command goes on with it", word, run->verb));
  }
  return lab::runbook::logbook::finished(*run);
}

std::string screen_of(const nlohmann::json& document, const lab::base::Terminal& terminal) {
  std::string text;
  for (const nlohmann::json& section : document.at("sections")) {
    for (const nlohmann::json& run : section.at("runs")) {
      text += fmt::format("{:<15} {:<24} {:<8} {}\n", section.at("title").get<std::string>(),
                          run.at("label").get<std::string>(), run.at("verdict").get<std::string>(),
                          run.at("headline").get<std::string>());
    }
  }
  for (const nlohmann::json& sweep : document.at("publishable").at("sweeps")) {
    text += fmt::format(
        "\nThroughput of {}: {}\n", sweep.at("name").get<std::string>(),
        terminal.paint(sweep.at("publishable").get<bool>() ? "32" : "33", sweep.at("why").get<std::string>()));
    for (const nlohmann::json& one : sweep.at("behind")) {
      if (one.at("met").get<bool>()) continue;
      text += fmt::format("  {}: {}; {}\n", one.at("name").get<std::string>(), one.at("found").get<std::string>(),
                          one.at("command").get<std::string>());
    }
  }
  return text + fmt::format("\nThe page is {}\n", document.at("path").get<std::string>());
}

int report(const ReportOptions& options) {
  std::vector<lab::runbook::logbook::FinishedRun> chosen;
  for (const std::string& file : options.from) {
    for (lab::runbook::logbook::FinishedRun& run : lab::runbook::logbook::finished_in(file))
      chosen.push_back(std::move(run));
  }
  std::vector<lab::runbook::logbook::FinishedRun> all = chosen;
  if (auto logbook = logbook_of(options)) {
    std::vector<lab::runbook::logbook::FinishedRun> logged;
    for (const lab::runbook::logbook::LoggedRun& run : logbook->runs({}, kMostRuns)) {
      if (run.state == lab::runbook::logbook::RunState::kDone) logged.push_back(lab::runbook::logbook::finished(run));
    }
    for (const std::string& word : options.runs) chosen.push_back(finished_run(word, *logbook, logged));
    if (options.last) chosen.push_back(finished_run("last", *logbook, logged));
    if (chosen.empty()) chosen = lab::runbook::report::choose_runs(logged, options.side_by_side);
    std::ranges::move(logged, std::back_inserter(all));
  }
  if (chosen.empty()) throw std::runtime_error("the logbook has no finished run yet: there is nothing to report");
  if (!options::can_write("-o", options.output)) return options::kUsageError;

  lab::runbook::report::Report report = lab::runbook::report::make_report(chosen, all);
  options::write_text(options.output, report.html);
  report.document["version"] = 1;
  report.document["verb"] = "report";
  report.document["path"] = std::filesystem::absolute(options.output).string();
  report.document["status"] = 0;
  return options::conclude(options.session, report.document, screen_of);
}

}  // namespace

void add_report(CLI::App& app, options::Action& chosen) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* verb = app.add_subcommand("report", "Draw runs of the logbook as one HTML page that needs no network");
  verb->add_option("RUN", options->runs, "Numbers of the logbook, or `last`; without: the newest command's runs");
  verb->add_option("-o,--output", options->output, "The page")->type_name("FILE")->capture_default_str();
  verb->add_option("--from", options->from, "A document that --json of a command printed, in place of a run")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  verb->add_flag("--last", options->last, "The newest finished run");
  verb->add_flag("--side-by-side", options->side_by_side,
                 "Of the newest command one run for each setting, such as another Mac, beside one another");
  options::add_reading_options(*verb, options->session);
  verb->footer(R"(Runs of the same command of the runbook stand side by side, with their curves in common charts.

Examples:
  anymps report                              the newest command: doctor, sweep, plateau and what else there is of it
  anymps report 12 15 -o both.html           two runs, such as one sweep on a 16 GB Mac and one on a 64 GB Mac
  anymps report --from sweep.json --last     a document of a file, and the newest run
)");
  verb->callback([options, &chosen] {
    chosen = [options](const std::vector<std::string>&) { return options::guarded([&] { return report(*options); }); };
  });
}

}  // namespace anymps::cli
