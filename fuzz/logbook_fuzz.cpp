// libFuzzer on rows of the logbook: whatever the texts of a row are, `anymps log` and `anymps report` read it or say
// what is wrong with it. An input is texts with a zero byte between them: the verb, the state, the command, the facts,
// the document, a part and a sample.
#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fuzz/scratch_file.h"
#include "lab/base/json_text.h"
#include "lab/runbook/logbook/diff.h"
#include "lab/runbook/logbook/export.h"
#include "lab/runbook/logbook/figures.h"
#include "lab/runbook/logbook/finished_run.h"
#include "lab/runbook/logbook/logbook.h"
#include "lab/runbook/logbook/screen.h"
#include "lab/runbook/logbook/sqlite.h"
#include "lab/runbook/report/report.h"

namespace {

using namespace anymps;
using nlohmann::json;

constexpr std::size_t kTexts = 7;

std::array<std::string_view, kTexts> texts_in(std::string_view input) {
  std::array<std::string_view, kTexts> texts;
  for (std::string_view& text : texts) {
    const std::size_t end = input.find('\0');
    text = input.substr(0, end);
    input.remove_prefix(end == std::string_view::npos ? input.size() : end + 1);
  }
  return texts;
}

void put(lab::Database& database, const std::array<std::string_view, kTexts>& texts) {
  const lab::Transaction undone(database);
  database.prepare("UPDATE runs SET verb = ?, state = ?, command = ?, facts = ?, document = ? WHERE id = 2")
      .bind(texts[0])
      .bind(texts[1])
      .bind(texts[2])
      .bind(texts[3])
      .bind(texts[4])
      .run();
  database.prepare("UPDATE parts SET result = ? WHERE run = 2").bind(texts[5]).run();
  database.prepare("UPDATE samples SET sample = ? WHERE run = 2").bind(texts[6]).run();
  database.execute("COMMIT");
}

void look_at(lab::Logbook& logbook) {
  const lab::Terminal terminal;
  const lab::RunWithSamples before{*logbook.run(1), logbook.samples(1)};
  const lab::RunWithSamples one{*logbook.run(2), logbook.samples(2)};
  logbook.parts(2);
  const std::vector<lab::RunWithSamples> runs = {before, one};
  lab::json_pages(lab::log_to_json(runs));
  lab::log_to_csv(runs);
  lab::log_to_markdown(runs);
  lab::log_to_paragraph(one);
  lab::run_figures(one.run);
  lab::log_diff_screen(lab::log_diff(before, one), terminal);
  lab::log_diff_screen(lab::log_diff(one, before), terminal);
  lab::log_list_screen({{"runs", json::array({lab::to_json(one.run)})}, {"logbook", "x"}}, terminal);
  std::vector<lab::FinishedRun> finished;
  for (const lab::LoggedRun& run : logbook.runs()) {
    if (run.state == lab::RunState::kDone) finished.push_back(lab::finished(run));
  }
  const std::vector<lab::FinishedRun> chosen = lab::choose_runs(finished, false);
  if (!chosen.empty()) lab::make_report(chosen, finished);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::ScratchFile file("logbook.sqlite");
  static lab::Logbook logbook = [] {
    lab::Logbook made(file.path());
    for (int run = 1; run <= 2; ++run) {
      made.begin("sweep", "key", {"python", "train.py"});
      made.put_part(run, "a part", json::object());
      made.put_sample(run, json::object());
      made.finish(run, lab::Verdict::kGood, {{"verb", "sweep"}, {"series", json::array()}});
    }
    return made;
  }();
  static lab::Database database(file.path());
  put(database, texts_in({reinterpret_cast<const char*>(data), size}));
  try {
    look_at(logbook);
  } catch (const std::runtime_error&) {
    return 0;  // in words, as main() prints them
  }
  return 0;
}
