#include "lab/trace/chrome_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "scratch_folder.h"

namespace anymps::lab::trace {
namespace {

using gpu::trace::TraceKind;
using nlohmann::json;

TraceRecord record(TraceKind kind, const std::string& name, std::uint64_t start_ns, std::uint64_t end_ns,
                   std::uint32_t thread = 1) {
  TraceRecord made;
  made.kind = kind;
  made.name = name;
  made.time_ns = end_ns;
  made.b = end_ns - start_ns;
  made.thread = thread;
  return made;
}

json written(std::vector<TraceRecord> records) {
  const ScratchFolder folder;
  std::vector<TraceFile> traces(1);
  traces[0].pid = 7;
  traces[0].records = std::move(records);
  EXPECT_EQ(write_chrome_trace(traces, folder.path() / "trace.json"), "");
  return json::parse(std::ifstream(folder.path() / "trace.json"));
}

// {track: [(start, end), ...]} in ns, in the order of their starts.
std::map<std::uint32_t, std::vector<std::pair<double, double>>> spans(const json& trace, const std::string& category) {
  std::map<std::uint32_t, std::vector<std::pair<double, double>>> found;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] != "X" || event["cat"] != category) continue;
    const double start = 1000 * event["ts"].get<double>();
    found[event["tid"]].emplace_back(start, start + 1000 * event["dur"].get<double>());
  }
  for (auto& [_, track] : found) std::ranges::sort(track);
  return found;
}

std::string track_name(const json& trace, std::uint32_t track) {
  for (const json& event : trace["traceEvents"]) {
    if (event["name"] == "thread_name" && event["tid"] == track) return event["args"]["name"];
  }
  return "";
}

// Readers drop a span that overlaps the one before it. The second step was written down sooner after its end than the
// first.
TEST(ChromeTrace, StepsDoNotOverlap) {
  const json trace = written({record(TraceKind::kStep, "SGD", 0, 1000), record(TraceKind::kStep, "SGD", 990, 2000)});
  const auto tracks = spans(trace, "step");
  ASSERT_EQ(tracks.size(), 1U);
  const auto& steps = tracks.begin()->second;
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_NEAR(steps[0].second, 1000, 1e-6);
  EXPECT_NEAR(steps[1].first, 1000, 1e-6);
  EXPECT_NEAR(steps[1].second, 2000, 1e-6);
}

TEST(ChromeTrace, LoopsHaveTracksOfTheirOwn) {
  const json trace =
      written({record(TraceKind::kStep, "Adam", 0, 1000), record(TraceKind::kStep, "SGD", 500, 1500),
               record(TraceKind::kEpoch, "epoch", 0, 1600), record(TraceKind::kStep, "Adam", 1000, 2000)});
  const auto tracks = spans(trace, "step");
  ASSERT_EQ(tracks.size(), 3U);
  EXPECT_EQ(track_name(trace, tracks.begin()->first), "Adam");
  EXPECT_EQ(tracks.begin()->second.size(), 2U);
}

TEST(ChromeTrace, KernelsAtOnceHaveTracksOfTheirOwn) {
  const json trace = written({record(TraceKind::kOperator, "aten::mm", 0, 1000),
                              record(TraceKind::kOperator, "aten::add", 500, 1200, 2),
                              record(TraceKind::kShader, "mine", 1000, 1300)});
  const auto tracks = spans(trace, "kernel");
  ASSERT_EQ(tracks.size(), 2U);
  EXPECT_EQ(track_name(trace, 0), "mps");
  ASSERT_EQ(tracks.at(0).size(), 2U);
  EXPECT_NEAR(tracks.at(0)[1].first, 1000, 1e-6);
  EXPECT_EQ(track_name(trace, tracks.rbegin()->first), "mps 2");
}

TEST(ChromeTrace, CarriesTheModelledFigures) {
  const json trace =
      written({record(TraceKind::kOperator, "aten::mm", 1000, 1100),
               record(TraceKind::kOperator, "aten::mm", 1110, 1210), record(TraceKind::kSync, "item", 1220, 1220)});
  ASSERT_EQ(trace["otherData"]["processes"].size(), 1U);
  const json& process = trace["otherData"]["processes"][0];
  EXPECT_EQ(process["pid"], 7);
  EXPECT_NEAR(process["modelled"]["queued_seconds"].get<double>(), 90e-9, 1e-12);
  EXPECT_NEAR(process["modelled"]["waited_seconds"].get<double>(), 180e-9, 1e-12);
}

}  // namespace
}  // namespace anymps::lab::trace
