#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <utility>

#include "cli/options/runbook_options.h"
#include "cli/verbs.h"
#include "gpu/support/whole_number.h"
#include "lab/base/json_text.h"
#include "lab/base/safe_text.h"
#include "lab/runbook/document/described.h"
#include "lab/runbook/log/diff.h"
#include "lab/runbook/log/export.h"
#include "lab/runbook/log/screen.h"
#include "lab/runbook/log/show.h"

namespace anymps::cli {
namespace {

using nlohmann::json;

struct LogOptions {
  lab::runbook::trial::SessionOptions session;
  std::string verb;
  std::int64_t limit = 50;
  std::vector<std::string> runs;
  std::string format = "json";
  std::string text;
  std::string why;
};

lab::runbook::logbook::Logbook open(const LogOptions& options) {
  const std::string& named = options.session.logbook;
  return lab::runbook::logbook::Logbook(named.empty() ? lab::runbook::logbook::Logbook::default_path()
                                                      : std::filesystem::path(named));
}

// By its number, or the latest one.
lab::runbook::log::RunWithSamples logged_run(lab::runbook::logbook::Logbook& logbook, const std::string& name) {
  std::optional<lab::runbook::logbook::LoggedRun> run;
  if (name == "last") {
    if (auto latest = logbook.runs({}, 1); !latest.empty()) run = std::move(latest.front());
  } else if (const auto id = gpu::support::whole_number<std::int64_t>(name)) {
    run = logbook.run(*id);
  } else {
    throw std::runtime_error(fmt::format("`{}` is no run: give its number, or last", name));
  }
  if (!run) throw std::runtime_error(fmt::format("there is no run {} in {}", name, logbook.path().string()));
  const std::int64_t id = run->id;
  return {std::move(*run), logbook.samples(id)};
}

template <typename Document>
int conclude(const LogOptions& options, const lab::runbook::logbook::Logbook& logbook, Document document,
             std::string (*screen)(const Document& document, const lab::base::Terminal& terminal)) {
  document.head.logbook = logbook.path().string();
  return options::conclude(
      options.session, lab::runbook::document::to_json(document),
      [&](const json&, const lab::base::Terminal& terminal) { return screen(document, terminal); });
}

int list_runs(const LogOptions& options) {
  lab::runbook::logbook::Logbook logbook = open(options);
  lab::runbook::log::ListDocument document;
  document.runs = logbook.runs(options.verb, options.limit);
  return conclude(options, logbook, std::move(document), lab::runbook::log::log_list_screen);
}

int show(const LogOptions& options) {
  lab::runbook::logbook::Logbook logbook = open(options);
  return conclude(options, logbook, lab::runbook::log::show_run(logbook, logged_run(logbook, options.runs.front())),
                  lab::runbook::log::log_show_screen);
}

int diff(const LogOptions& options) {
  lab::runbook::logbook::Logbook logbook = open(options);
  const lab::runbook::log::RunWithSamples before = logged_run(logbook, options.runs.front());
  const lab::runbook::log::RunWithSamples after = logged_run(logbook, options.runs.back());
  return conclude(options, logbook, lab::runbook::log::log_diff(before, after), lab::runbook::log::log_diff_screen);
}

int print_table(const std::string& text) {
  lab::base::print_screen(stdout, text);
  return 0;
}

int export_runs(const LogOptions& options) {
  lab::runbook::logbook::Logbook logbook = open(options);
  std::vector<lab::runbook::log::RunWithSamples> runs;
  if (options.runs.empty()) {
    std::vector<lab::runbook::logbook::LoggedRun> all = logbook.runs(options.verb, -1);  // no limit
    std::ranges::reverse(all);
    for (lab::runbook::logbook::LoggedRun& run : all) {
      const std::int64_t id = run.id;
      runs.push_back({std::move(run), logbook.samples(id)});
    }
  }
  for (const std::string& name : options.runs) runs.push_back(logged_run(logbook, name));
  if (options.format == "csv") return print_table(lab::runbook::log::log_to_csv(runs));
  if (options.format == "markdown") return print_table(lab::runbook::log::log_to_markdown(runs));
  lab::base::print_text(stdout, lab::base::json_pages(lab::runbook::log::log_to_json(runs)));
  return 0;
}

int readme(const LogOptions& options) {
  lab::runbook::logbook::Logbook logbook = open(options);
  lab::runbook::log::ReadmeDocument document;
  document.paragraph = lab::runbook::log::log_to_paragraph(logged_run(logbook, options.runs.front()));
  return conclude(options, logbook, std::move(document), lab::runbook::log::log_readme_screen);
}

int notes(const LogOptions& options) {
  lab::runbook::logbook::Logbook logbook = open(options);
  lab::runbook::log::NotesDocument document;
  document.notes = logbook.notes();
  return conclude(options, logbook, std::move(document), lab::runbook::log::log_notes_screen);
}

int put_note(const LogOptions& options, const char* kind) {
  lab::runbook::logbook::Logbook logbook = open(options);
  const std::int64_t run = options.runs.empty() ? 0 : logged_run(logbook, options.runs.front()).run.id;
  logbook.put_note(run, kind, options.text, options.why);
  lab::runbook::log::NotesDocument document;
  document.notes = {logbook.notes().back()};
  return conclude(options, logbook, std::move(document), lab::runbook::log::log_notes_screen);
}

using Part = std::function<int(const LogOptions& options)>;

void does(CLI::App& verb, const std::shared_ptr<LogOptions>& options, options::Action& chosen, Part part) {
  verb.callback([options, &chosen, part = std::move(part)] {
    chosen = [options, part](const auto&) { return options::guarded([&] { return part(*options); }); };
  });
}

void add_filters(CLI::App& verb, LogOptions& options) {
  verb.add_option("--verb", options.verb, "Of that verb only, such as sweep")->type_name("VERB");
}

}  // namespace

void add_log(CLI::App& app, options::Action& chosen) {
  auto options = std::make_shared<LogOptions>();
  CLI::App* log = app.add_subcommand("log", "The logbook of what doctor, sweep and the other commands measured");
  log->require_subcommand(0, 1);
  const auto add = [&](const char* name, const char* what, Part part) {
    CLI::App* verb = log->add_subcommand(name, what);
    options::add_reading_options(*verb, options->session);
    does(*verb, options, chosen, std::move(part));
    return verb;
  };
  const auto add_list_options = [&options](CLI::App& verb) {
    add_filters(verb, *options);
    verb.add_option("--limit", options->limit, "At most so many, the newest (50)")->type_name("N");
  };
  CLI::App* listed = add("list", "The runs, newest first", list_runs);
  add_list_options(*listed);
  // Without a further word it lists.
  options::add_reading_options(*log, options->session);
  add_list_options(*log);
  log->callback([log, options, &chosen] {
    if (log->get_subcommands().empty())
      chosen = [options](const auto&) { return options::guarded([&] { return list_runs(*options); }); };
  });

  add("show", "All fields of a run", show)
      ->add_option("RUN", options->runs, "Its number, or last")
      ->required()
      ->expected(1);
  add("diff", "What changed between two runs, and what of it could explain their figures", diff)
      ->add_option("RUNS", options->runs, "Two numbers, or last; the earlier one first")
      ->required()
      ->expected(2);
  CLI::App* exported = log->add_subcommand("export", "Runs for other programs, the oldest first");
  exported->add_option("--logbook", options->session.logbook, "The logbook")->type_name("FILE");
  add_filters(*exported, *options);
  exported->add_option("--format", options->format, "json (default), csv or markdown")
      ->check(CLI::IsMember({"json", "csv", "markdown"}).description(""));
  exported->add_option("RUNS", options->runs, "Their numbers; without any, all");
  does(*exported, options, chosen, export_runs);
  add("readme", "A paragraph for a README: with what the figures of a run were made", readme)
      ->add_option("RUN", options->runs, "Its number, or last")
      ->required()
      ->expected(1);
  add("notes", "What was noted and which hypotheses were rejected", notes);
  CLI::App* noted = add("note", "Note something", [](const LogOptions& given) { return put_note(given, "note"); });
  CLI::App* rejected = add("reject", "Note a hypothesis that was tried and failed",
                           [](const LogOptions& given) { return put_note(given, "rejected"); });
  for (CLI::App* verb : {noted, rejected}) {
    verb->add_option("TEXT", options->text, "What")->required();
    verb->add_option("--run", options->runs, "The run that it is about")->type_name("RUN")->expected(1);
  }
  rejected->add_option("--why", options->why, "Why it was rejected")->required();
  log->footer(
      R"(The logbook is an SQLite file: --logbook, else $ANYMPS_LOGBOOK, else anymps/logbook.sqlite in the user's data folder.

Examples:
  anymps log
  anymps log show last
  anymps log diff 3 7
  anymps log export --format csv > runs.csv
  anymps log reject "channels_last" --why "no faster on three runs" --run 7
)");
}

}  // namespace anymps::cli
