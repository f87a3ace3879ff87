// libFuzzer on the reader of traces, and on all that `anymps run`, `trace`, `check` and `size` make of what it reads.
// The records' check words are put right, without which nothing would come through.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "fuzz/scratch_file.h"
#include "gpu/trace/trace_format.h"
#include "lab/base/json_text.h"
#include "lab/check/html.h"
#include "lab/check/json.h"
#include "lab/check/junit.h"
#include "lab/check/report.h"
#include "lab/check/sarif.h"
#include "lab/check/screen.h"
#include "lab/trace/chrome_trace.h"
#include "lab/trace/reader.h"
#include "lab/trace/run_screen.h"
#include "lab/trace/run_summary.h"
#include "lab/trace/screen.h"
#include "lab/trace/summary.h"

namespace {

using namespace anymps;
namespace format = gpu::trace::trace_format;

void mend_records(std::vector<std::uint8_t>& bytes) {
  format::Header header{};
  if (bytes.size() < sizeof header) return;
  std::memcpy(&header, bytes.data(), sizeof header);
  for (std::uint64_t at = header.ring.offset; at < bytes.size() && bytes.size() - at >= sizeof(format::Record);
       at += sizeof(format::Record)) {
    format::Record record{};
    std::memcpy(&record, bytes.data() + at, sizeof record);
    record.check = format::record_check(record);
    std::memcpy(bytes.data() + at, &record, sizeof record);
  }
}

void look_at(const std::vector<lab::trace::TraceFile>& traces) {
  const lab::base::Terminal terminal;
  lab::trace::RunReport report;
  report.run = lab::trace::summarise({{"python", "train.py"}, {}}, {}, traces);
  lab::base::json_pages(lab::trace::to_json(report));
  lab::trace::summary_screen(report, terminal);
  const lab::trace::TraceSummary summary = lab::trace::summarise_trace(traces);
  lab::trace::trace_screen(summary, terminal);
  lab::base::json_pages(lab::trace::to_json(summary));
  lab::trace::write_chrome_trace(traces, "/dev/null");
  const lab::check::CheckReport checked = lab::check::check_report({{"python", "train.py"}, {}}, {}, traces, {});
  lab::check::check_screen(checked, terminal);
  lab::check::check_json(checked);
  lab::check::check_html(checked);
  lab::check::check_junit(checked);
  lab::check::check_sarif(checked);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::ScratchFile file("trace-1.amt");
  std::vector<std::uint8_t> bytes(data, data + size);
  mend_records(bytes);
  file.write(bytes.data(), bytes.size());
  look_at(lab::trace::read_run(file.path().parent_path()));
  return 0;
}
