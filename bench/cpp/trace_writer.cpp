// Writes a trace of so many events in Chrome's format whenever a line comes in, and answers with the seconds that it
// took and the KiB by which that raised the process's largest resident memory. bench/trace_writer.py drives it.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "lab/trace/chrome_trace.h"

namespace {

using namespace anymps;
using gpu::trace::TraceKind;

// As a training step leaves them: for each kernel the calls that led to it, now and then a wait with its line.
std::vector<lab::trace::TraceRecord> events(std::uint64_t count) {
  static const char* const kNames[] = {
      "aten::addmm",         "aten::relu",        "aten::threshold_backward",
      "aten::_foreach_add_", "aten::log_softmax", "autograd::engine::evaluate_function"};
  std::vector<lab::trace::TraceRecord> records;
  std::uint64_t now = 1'000'000'000;
  for (std::uint64_t i = 0; i < count; ++i) {
    now += 1'000 + i * 7919 % 9'000;
    lab::trace::TraceRecord record{.index = i, .time_ns = now, .thread = 1 + static_cast<std::uint32_t>(i % 2)};
    record.name = kNames[i % std::size(kNames)];
    record.b = 500 + i * 104'729 % 100'000;
    if (i % 50 == 49) {
      record.kind = TraceKind::kSync;
      record.name = "item";
      record.site = "/home/someone/project/train.py:" + std::to_string(i % 300);
    } else if (i % 3 == 0) {
      record.kind = i % 2 == 0 ? TraceKind::kOperator : TraceKind::kShader;
      record.a = i % 2 == 0 ? 0 : 65'536;
    } else {
      record.kind = TraceKind::kCall;
      record.a = i % 3;
    }
    records.push_back(std::move(record));
  }
  return records;
}

long peak_kib() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  return use.ru_maxrss;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s FILE EVENTS\n", argv[0]);
    return 2;
  }
  std::vector<lab::trace::TraceFile> traces(1);
  traces[0].pid = 1;
  traces[0].command = "python train.py";
  traces[0].start_ns = 1'000'000'000;
  traces[0].records = events(std::strtoull(argv[2], nullptr, 10));
  const long before = peak_kib();
  for (std::string line; std::getline(std::cin, line);) {
    const auto began = std::chrono::steady_clock::now();
    const std::string problem = lab::trace::write_chrome_trace(traces, argv[1]);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    if (!problem.empty()) {
      std::fprintf(stderr, "%s\n", problem.c_str());
      return 1;
    }
    std::printf("%.9f %ld\n", seconds, peak_kib() - before);
    std::fflush(stdout);
  }
  return 0;
}
