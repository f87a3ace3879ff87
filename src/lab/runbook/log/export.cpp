#include "lab/runbook/log/export.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "lab/base/json_text.h"
#include "lab/base/safe_text.h"
#include "lab/runbook/document/fields.h"
#include "lab/runbook/log/fields.h"
#include "lab/runbook/log/figures.h"

namespace anymps::lab::runbook::log {
namespace {

using nlohmann::json;

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) line += (line.empty() ? "" : ",") + base::csv_cell(cell);
  return line + "\n";
}

std::string markdown_cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c == '\n' ? ' ' : c;
  }
  return escaped.empty() ? "-" : escaped;
}

std::string markdown_line(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += " " + markdown_cell(cell) + " |";
  return line + "\n";
}

// The words as a shell would take them, near enough to be read.
std::string exported_command(const logbook::LoggedRun& run) { return fmt::format("{}", fmt::join(run.command, " ")); }

std::string figure_line(const document::Figure& figure) {
  return fmt::format("{} {}{}", figure.name, document::figure_text(figure.kind, figure.value),
                     figure.at.empty() ? "" : " at " + figure.at);
}

std::string short_commit(const json& facts) {
  const std::string commit = document::string_in(facts, "commit");
  if (commit.empty()) return "-";
  return commit.substr(0, 10) + (document::flag_in(facts, "dirty") ? " with uncommitted changes" : "");
}

// What is recorded, said; what is not, named once at the end.
class Sentences {
 public:
  explicit Sentences(const json& facts) : facts_(facts) {}

  void add(std::string sentence) { all_.push_back(std::move(sentence)); }

  // Fields with what to say of each, {} standing for its value.
  void list(std::initializer_list<std::pair<const char*, std::string_view>> fields) {
    std::vector<std::string> said;
    for (const auto& [name, form] : fields) {
      const LogField& field = log_field(name);
      const std::string value = text_of(field, facts_);
      if (value == "-") {
        missing_.emplace_back(field.label);
      } else {
        said.push_back(fmt::format(fmt::runtime(form), value));
      }
    }
    if (!said.empty()) add(fmt::format("{}.", fmt::join(said, ", ")));
  }

  std::string take() {
    if (!missing_.empty()) add(fmt::format("Not recorded: {}.", fmt::join(missing_, ", ")));
    return fmt::format("{}", fmt::join(all_, " "));
  }

 private:
  const json& facts_;
  std::vector<std::string> all_;
  std::vector<std::string> missing_;
};

}  // namespace

json log_to_json(const std::vector<RunWithSamples>& runs) {
  auto all = json::array();
  for (const RunWithSamples& one : runs) all.push_back(document::to_json(one));
  return all;
}

std::string log_to_csv(const std::vector<RunWithSamples>& runs) {
  std::vector<std::string> heads = {"run", "verb", "state", "verdict", "started", "ended", "command", "folder"};
  for (const LogField& field : log_fields()) heads.emplace_back(field.name);
  heads.insert(heads.end(), {"figure", "figure_at", "figure_value"});
  std::string text = csv_line(heads);
  for (const RunWithSamples& one : runs) {
    const logbook::LoggedRun& run = one.run;
    std::vector<std::string> cells = {std::to_string(run.id),
                                      run.verb,
                                      std::string(document::word_of(run.state)),
                                      std::string(document::verdict_text(run.verdict)),
                                      run.started,
                                      run.ended,
                                      exported_command(run),
                                      run.folder};
    for (const LogField& field : log_fields()) {
      const json& value = value_of(field, run.facts);
      cells.push_back(value.is_null() ? "" : base::unquoted_json(value));
    }
    const std::vector<document::Figure> figures = run_figures(run);
    const bool any = !figures.empty();
    cells.push_back(any ? figures.front().name : "");
    cells.push_back(any ? figures.front().at : "");
    cells.push_back(any ? fmt::format("{}", figures.front().value) : "");
    text += csv_line(cells);
  }
  return text;
}

std::string log_to_markdown(const std::vector<RunWithSamples>& runs) {
  std::string text = markdown_line({"run", "started", "verb", "verdict", "torch", "commit", "batch", "resolution",
                                    "peak memory", "fallback", "figure"});
  text += "|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const RunWithSamples& one : runs) {
    const json& facts = one.run.facts;
    const auto field = [&facts](const char* name) { return text_of(log_field(name), facts); };
    const std::vector<document::Figure> figures = run_figures(one.run);
    text += markdown_line({std::to_string(one.run.id), one.run.started, one.run.verb,
                           std::string(document::verdict_text(one.run.verdict)), field("torch"), short_commit(facts),
                           field("batch"), field("resolution"), field("peak_bytes"), field("fallback"),
                           figures.empty() ? "" : figure_line(figures.front())});
  }
  return text;
}

std::string log_to_paragraph(const RunWithSamples& one) {
  const logbook::LoggedRun& run = one.run;
  const json& facts = run.facts;
  Sentences text(facts);
  text.add(fmt::format("Run {} of the logbook (`anymps {}`, {}).", run.id, run.verb, run.started));
  text.list({{"torch", "PyTorch {}"},
             {"python", "Python {}"},
             {"commit", "commit {}"},
             {"dirty", "uncommitted changes: {}"},
             {"batch", "batch {}"},
             {"resolution", "resolution {}"},
             {"peak_bytes", "peak memory {}"},
             {"fallback", "CPU fallback: {}"}});
  text.list({{"device", "Device {}"}, {"system", "on {}"}, {"memory_bytes", "with {} of memory"}});
  if (document::string_in(facts, "device") == "mps" &&
      !document::string_in(document::member(facts, "machine"), "system").starts_with("macOS")) {
    text.add("The device was simulated on a CPU: its speed says nothing about a Mac.");
  }
  text.list({{"epoch_window", "Epoch window: {}"},
             {"seed", "seed: {}"},
             {"workers", "loader workers: {}"},
             {"worker_init", "a worker_init_fn: {}"},
             {"deterministic", "deterministic algorithms: {}"},
             {"amp", "AMP: {}"},
             {"checkpointing", "checkpointing: {}"},
             {"accumulation", "accumulation: {}"}});
  text.list({{"data_sha256", "SHA-256 of the data set: {}"}});
  if (const std::vector<document::Figure> figures = run_figures(run); !figures.empty()) {
    text.add("Figure: " + figure_line(figures.front()) + ".");
  }
  return text.take();
}

}  // namespace anymps::lab::runbook::log
