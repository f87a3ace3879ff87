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
#include "lab/runbook/log/diff.h"
#include "lab/runbook/log/export.h"
#include "lab/runbook/log/screen.h"
#include "lab/runbook/log/show.h"
#include "lab/runbook/logbook/finished_run.h"
#include "lab/runbook/logbook/logbook.h"
#include "lab/runbook/logbook/sqlite.h"
#include "lab/runbook/report/report.h"

namespace {

using namespace anymps;
using namespace anymps::lab::runbook;
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

void put(logbook::Database& database, const std::array<std::string_view, kTexts>& texts) {
  const logbook::Transaction undone(database);
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

void look_at(logbook::Logbook& book) {
  const lab::base::Terminal terminal;
  const log::RunWithSamples before{*book.run(1), book.samples(1)};
  const log::RunWithSamples one{*book.run(2), book.samples(2)};
  const std::vector<log::RunWithSamples> runs = {before, one};
  lab::base::json_pages(log::log_to_json(runs));
  log::log_to_csv(runs);
  log::log_to_markdown(runs);
  log::log_to_paragraph(one);
  log::log_show_screen(log::show_run(book, one), terminal);
  log::log_diff_screen(log::log_diff(before, one), terminal);
  log::log_diff_screen(log::log_diff(one, before), terminal);
  log::ListDocument listed;
  listed.runs = {one.run};
  log::log_list_screen(listed, terminal);
  std::vector<logbook::FinishedRun> finished;
  for (const logbook::LoggedRun& run : book.runs()) {
    if (run.state == logbook::RunState::kDone) finished.push_back(logbook::finished(run));
  }
  const std::vector<logbook::FinishedRun> chosen = report::choose_runs(finished, false);
  if (!chosen.empty()) report::make_report(chosen, finished);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::ScratchFile file("logbook.sqlite");
  static logbook::Logbook book = [] {
    logbook::Logbook made(file.path());
    for (int run = 1; run <= 2; ++run) {
      made.begin("sweep", "key", {"python", "train.py"});
      made.put_part(run, "a part", json::object());
      made.put_sample(run, json::object());
      made.finish(run, document::Verdict::kGood, {{"verb", "sweep"}, {"series", json::array()}});
    }
    return made;
  }();
  static logbook::Database database(file.path());
  put(database, texts_in({reinterpret_cast<const char*>(data), size}));
  try {
    look_at(book);
  } catch (const std::runtime_error&) {
    return 0;  // in words, as main() prints them
  }
  return 0;
}
