#include "lab/trace/reader.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>

#include "gpu/trace/trace.h"
#include "gpu/trace/trace_format.h"
#include "scratch_folder.h"

namespace anymps::lab::trace {
namespace {

namespace fs = std::filesystem;
namespace format = gpu::trace::trace_format;
using gpu::trace::Trace;
using gpu::trace::TraceKind;

class TraceReaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const pid_t child = ::fork();
    if (child == 0) {
      ::setenv("ANYMPS_RUN", folder_.c_str(), 1);
      write_a_trace();
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_EQ(status, 0);
    path_ = fs::directory_iterator(folder_)->path();
    std::ifstream file(path_, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
  }

  static void write_a_trace() {
    Trace* trace = Trace::current();
    trace->set_fact("device", "mps");
    trace->set_fact("limit", "1000");
    trace->note_memory(11, 16, 22);
    for (std::uint64_t i = 0; i < 10; ++i) {
      trace->record(TraceKind::kStep, trace->intern("Adam"), trace->intern("train.py:3"), i, 100 + i, 5);
      trace->record(TraceKind::kSync, trace->intern("item\x1b[2J"), trace->intern("train.py:4"), 0, 1);
    }
  }

  TraceFile read_with(const std::string& bytes) const {
    const fs::path path = folder_ / "changed";
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    return read_trace(path);
  }

  ScratchFolder scratch_;
  const fs::path folder_ = scratch_.path();
  fs::path path_;
  std::string bytes_;
};

TEST_F(TraceReaderTest, ReadsBackWhatWasWritten) {
  const TraceFile trace = read_trace(path_);
  EXPECT_EQ(trace.error, "");
  EXPECT_FALSE(trace.truncated);
  EXPECT_EQ(trace.parent_pid, static_cast<std::uint32_t>(::getpid()));
  EXPECT_EQ(trace.facts.at("device"), "mps");
  EXPECT_EQ(trace.facts.at("limit"), "1000");
  EXPECT_EQ(trace.peak_allocated_bytes, 11U);
  EXPECT_EQ(trace.peak_block_bytes, 16U);
  EXPECT_EQ(trace.peak_driver_bytes, 22U);
  EXPECT_EQ(trace.records_written, 20U);
  ASSERT_EQ(trace.records.size(), 20U);
  EXPECT_TRUE(std::ranges::is_sorted(trace.records, {}, &TraceRecord::index));
  EXPECT_EQ(trace.records[2].kind, TraceKind::kStep);
  EXPECT_EQ(trace.records[2].name, "Adam");
  EXPECT_EQ(trace.records[2].site, "train.py:3");
  EXPECT_EQ(trace.records[2].a, 1U);
  EXPECT_EQ(trace.records[2].b, 101U);
  EXPECT_EQ(trace.records[2].c, 5U);
  ASSERT_EQ(trace.tallies.size(), 2U);
  const auto steps = std::ranges::find(trace.tallies, TraceKind::kStep, &TraceTally::kind);
  EXPECT_EQ(steps->count, 10U);
  EXPECT_EQ(steps->total, 1045U);
  EXPECT_EQ(steps->max, 109U);
  EXPECT_EQ(steps->first, 100U);
}

TEST_F(TraceReaderTest, KeepsControlCharactersOffTheTerminal) {
  for (const TraceTally& tally : read_trace(path_).tallies) EXPECT_EQ(tally.name.find('\x1b'), std::string::npos);
}

TEST_F(TraceReaderTest, AFolderGivesEachOfItsTracesInOrderAndNothingElse) {
  std::ofstream(folder_ / "notes.txt") << "not a trace";
  std::ofstream(folder_ / "trace-1-1.amt") << "neither";
  const auto traces = read_run(folder_);
  ASSERT_EQ(traces.size(), 2U);
  EXPECT_NE(traces[0].error, "");
  EXPECT_EQ(traces[1].error, "");
  EXPECT_TRUE(read_run(folder_ / "missing").empty());
  // What is there and cannot be read is not left out of the figures.
  std::filesystem::create_directory(folder_ / "trace-7.amt");
  EXPECT_THROW(read_run(folder_), std::runtime_error);
}

TEST_F(TraceReaderTest, RefusesOtherFilesAndOtherVersions) {
  EXPECT_NE(read_with("").error, "");
  EXPECT_NE(read_with("hello").error, "");
  EXPECT_NE(read_trace(folder_ / "missing").error, "");
  std::string newer = bytes_;
  newer[offsetof(format::Header, version)] = 9;
  EXPECT_NE(read_with(newer).error.find("version 9"), std::string::npos);
}

TEST_F(TraceReaderTest, ATornRecordIsLeftOut) {
  std::string torn = bytes_;
  torn[format::kRing.offset + 3 * sizeof(format::Record) + offsetof(format::Record, b)] ^= 1;
  const TraceFile trace = read_with(torn);
  EXPECT_EQ(trace.records.size(), 19U);
  EXPECT_TRUE(std::ranges::none_of(trace.records, [](const TraceRecord& record) { return record.index == 3; }));
}

TEST_F(TraceReaderTest, AStringOfAnImpossibleLengthIsNone) {
  std::string damaged = bytes_;
  damaged[format::kStrings.offset + format::kStringAlignment + 2] = 1;  // 65,536 longer than it is
  const TraceFile trace = read_with(damaged);
  EXPECT_EQ(trace.facts, (std::map<std::string, std::string>{{"limit", "1000"}}));
}

TEST_F(TraceReaderTest, ACutFileYieldsWhatIsThere) {
  const TraceFile without_half_the_ring =
      read_with(bytes_.substr(0, format::kRing.offset + 5 * sizeof(format::Record) + 17));
  EXPECT_TRUE(without_half_the_ring.truncated);
  EXPECT_EQ(without_half_the_ring.records.size(), 5U);
  EXPECT_EQ(without_half_the_ring.tallies.size(), 2U);
  const TraceFile header_only = read_with(bytes_.substr(0, sizeof(format::Header)));
  EXPECT_TRUE(header_only.truncated);
  EXPECT_EQ(header_only.peak_driver_bytes, 22U);
  for (std::size_t length = 0; length < sizeof(format::Header) + 200; length += 13) read_with(bytes_.substr(0, length));
}

// Damage is put where it can do harm: the header with its offsets, the string lengths, the tally keys, the first
// records.
TEST_F(TraceReaderTest, NoDamageCrashesIt) {
  std::mt19937_64 random(1);
  const std::vector<std::pair<std::size_t, std::size_t>> places = {
      {0, sizeof(format::Header)},
      {format::kStrings.offset, 64},
      {format::kTallies.offset, format::kTallies.count * sizeof(format::Tally)},
      {format::kRing.offset, 40 * sizeof(format::Record)}};
  for (int round = 0; round < 150; ++round) {
    std::string damaged = bytes_;
    for (int i = 0; i < 30; ++i) {
      const auto& [offset, length] = places[random() % places.size()];
      const std::size_t at = offset + random() % length;
      // The magic and the version stay, or the reader would look no further.
      if (at >= offsetof(format::Header, header_bytes)) damaged[at] = static_cast<char>(random() % 2 ? random() : 0xff);
    }
    read_with(damaged);
  }
}

TEST_F(TraceReaderTest, HostileSectionsAreRefusedOneByOne) {
  for (const std::size_t section :
       {offsetof(format::Header, strings), offsetof(format::Header, tallies), offsetof(format::Header, ring)}) {
    for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}, ~std::uint64_t{0} - 63,
                                      std::uint64_t{bytes_.size() - 1}}) {
      for (const std::size_t field : {std::size_t{0}, sizeof(std::uint64_t)}) {
        std::string hostile = bytes_;
        std::copy_n(reinterpret_cast<const char*>(&value), sizeof value, hostile.data() + section + field);
        const TraceFile trace = read_with(hostile);
        EXPECT_EQ(trace.peak_driver_bytes, 22U);
      }
    }
  }
}

}  // namespace
}  // namespace anymps::lab::trace
