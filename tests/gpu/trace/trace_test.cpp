// The writing half of the trace, read back from the raw bytes. Each test writes in a forked child, because a process
// decides once whether it keeps a trace.
#include "gpu/trace/trace.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "gpu/forked_child.h"
#include "gpu/trace/trace_format.h"
#include "scratch_folder.h"

namespace anymps::gpu::trace {
namespace {

namespace fs = std::filesystem;
using namespace trace_format;

class TraceTest : public ::testing::Test {
 protected:
  // The wait status of a child that keeps its trace in `folder`.
  int in_child(const std::function<void()>& body, const fs::path& folder) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::setenv("ANYMPS_RUN", folder.c_str(), 1);
      body();
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
  }
  int in_child(const std::function<void()>& body) { return in_child(body, folder_); }

  std::vector<std::string> files() const {
    std::vector<std::string> contents;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      std::ifstream file(entry.path(), std::ios::binary);
      contents.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    return contents;
  }

  static Header header_of(const std::string& bytes) {
    Header header;
    std::memcpy(&header, bytes.data(), sizeof header);
    return header;
  }
  static std::string string_of(const std::string& bytes, std::uint64_t id) {
    std::uint32_t length = 0;
    const std::size_t at = kStrings.offset + id * kStringAlignment;
    std::memcpy(&length, bytes.data() + at, sizeof length);
    return id == 0 ? "" : bytes.substr(at + sizeof length, length);
  }
  static std::map<std::string, Tally> tallies_of(const std::string& bytes) {
    std::map<std::string, Tally> tallies;
    for (std::size_t i = 0; i < kTallies.count; ++i) {
      Tally row;
      std::memcpy(&row, bytes.data() + kTallies.offset + i * sizeof row, sizeof row);
      if (row.key != 0) {
        tallies[string_of(bytes, row.key >> kIdBits & kIdMask) + "@" + string_of(bytes, row.key & kIdMask)] = row;
      }
    }
    return tallies;
  }
  static std::vector<Record> records_of(const std::string& bytes) {
    std::vector<Record> records(kRing.count);
    std::memcpy(records.data(), bytes.data() + kRing.offset, kRing.count * sizeof(Record));
    return records;
  }

  ScratchFolder scratch_;
  const fs::path folder_ = scratch_.path();
};

TEST_F(TraceTest, IsOffWithoutARunFolder) {
  ::unsetenv("ANYMPS_RUN");
  const pid_t child = ::fork();
  if (child == 0) ::_exit(Trace::current() == nullptr ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(TraceTest, AFolderThatIsNotThereTurnsItOffWithOneLine) {
  const fs::path said = folder_ / "stderr";
  const int status = in_child(
      [&] {
        std::freopen(said.c_str(), "w", stderr);
        for (int i = 0; i < 3; ++i) {
          if (Trace::current() != nullptr) ::_exit(1);
        }
        std::fflush(stderr);
      },
      folder_ / "missing");
  EXPECT_EQ(status, 0);
  std::ifstream file(said);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_NE(text.find("missing"), std::string::npos) << text;
}

TEST_F(TraceTest, WritesWhatItWasTold) {
  const int status = in_child([] {
    Trace* trace = Trace::current();
    trace->set_fact("device", "first");
    trace->set_fact("device", "second");
    trace->note_memory(100, 500, 900);
    trace->note_memory(300, 400, 700);
    trace->note_buffer(60);
    trace->note_buffer(50);
    const auto item = trace->intern("item");
    const auto line = trace->intern("train.py:12");
    if (item == 0 || item != trace->intern("item") || item == line || trace->intern("") != 0) ::_exit(1);
    trace->record(TraceKind::kSync, item, line, 1, 20, 3);
    trace->record(TraceKind::kSync, item, line, 1, 50, 3);
    trace->record(TraceKind::kSync, item, line, 1, 30, 3);
  });
  ASSERT_EQ(status, 0);
  ASSERT_EQ(files().size(), 1U);
  const std::string bytes = files().front();
  ASSERT_EQ(bytes.size(), file_bytes(kRing.count));
  const Header header = header_of(bytes);
  EXPECT_EQ(header.magic, kMagic);
  EXPECT_EQ(header.version, kVersion);
  EXPECT_EQ(header.parent_pid, static_cast<std::uint32_t>(::getpid()));
  EXPECT_EQ(header.peak_allocated_bytes, 300U);
  EXPECT_EQ(header.peak_block_bytes, 500U);
  EXPECT_EQ(header.largest_buffer_bytes, 60U);
  EXPECT_EQ(header.peak_driver_bytes, 900U);
  EXPECT_EQ(header.ring_next, 3U);
  EXPECT_EQ(string_of(bytes, header.facts[0] >> 32), "device");
  EXPECT_EQ(string_of(bytes, header.facts[0] & 0xffffffff), "second");
  EXPECT_EQ(header.facts[1], 0U);
  EXPECT_NE(std::string(header.command), "");
  const auto tallies = tallies_of(bytes);
  ASSERT_EQ(tallies.count("item@train.py:12"), 1U);
  const Tally& row = tallies.at("item@train.py:12");
  EXPECT_EQ(row.key >> (2 * kIdBits), static_cast<std::uint64_t>(TraceKind::kSync));
  EXPECT_EQ(row.count, 3U);
  EXPECT_EQ(row.total, 100U);
  EXPECT_EQ(row.max, 50U);
  EXPECT_EQ(row.first, 20U);
  EXPECT_LE(row.first_ns, row.last_ns);
  const Record second = records_of(bytes)[1];
  EXPECT_EQ(second.sequence, 2U);
  EXPECT_EQ(second.b, 50U);
  EXPECT_EQ(second.check, record_check(second));
}

TEST_F(TraceTest, CountsStayExactWhenTheRingIsOverwritten) {
  constexpr std::uint64_t kRecords = kRing.count + 1000;
  ASSERT_EQ(in_child([] {
              Trace* trace = Trace::current();
              const auto name = trace->intern("aten::add");
              for (std::uint64_t i = 0; i < kRecords; ++i) trace->record(TraceKind::kFallback, name, 0, i, 1);
            }),
            0);
  const std::string bytes = files().front();
  EXPECT_EQ(tallies_of(bytes).at("aten::add@").count, kRecords);
  EXPECT_EQ(tallies_of(bytes).at("aten::add@").total, kRecords);
  EXPECT_EQ(header_of(bytes).ring_next, kRecords);
  std::set<std::uint64_t> kept;
  for (const Record& record : records_of(bytes)) kept.insert(record.a);
  EXPECT_EQ(kept.size(), kRing.count);
  EXPECT_EQ(*kept.begin(), 1000U);
}

// Eight threads intern the same hundred names in different orders and record each a known number of times.
TEST_F(TraceTest, ManyThreadsLoseNothing) {
  constexpr int kThreads = 8;
  constexpr int kNames = 100;
  constexpr int kRounds = 40;
  ASSERT_EQ(in_child([] {
              std::vector<std::thread> threads;
              for (int t = 0; t < kThreads; ++t) {
                threads.emplace_back([t] {
                  for (int i = 0; i < kNames * kRounds; ++i) {
                    Trace* trace = Trace::current();
                    const auto name = trace->intern("name " + std::to_string((i * 7 + t * 13) % kNames));
                    trace->record(TraceKind::kMark, name, name, static_cast<std::uint64_t>(t), 2);
                    trace->note_memory(static_cast<std::uint64_t>(i), 0, static_cast<std::uint64_t>(t));
                  }
                });
              }
              for (std::thread& thread : threads) thread.join();
            }),
            0);
  ASSERT_EQ(files().size(), 1U);
  const std::string bytes = files().front();
  const auto tallies = tallies_of(bytes);
  ASSERT_EQ(tallies.size(), static_cast<std::size_t>(kNames));
  for (const auto& [name, row] : tallies) {
    EXPECT_EQ(row.count, static_cast<std::uint64_t>(kThreads * kRounds)) << name;
    EXPECT_EQ(row.total, static_cast<std::uint64_t>(2 * kThreads * kRounds)) << name;
  }
  EXPECT_EQ(header_of(bytes).peak_allocated_bytes, static_cast<std::uint64_t>(kNames * kRounds - 1));
  std::set<std::uint64_t> threads;
  std::size_t whole = 0;
  for (const Record& record : records_of(bytes)) {
    if (record.sequence == 0) continue;
    whole += record.check == record_check(record) ? 1 : 0;
    threads.insert(record.kind_and_thread & 0xffffffff);
  }
  EXPECT_EQ(whole, static_cast<std::size_t>(std::min<std::uint64_t>(kThreads * kNames * kRounds, kRing.count)));
  EXPECT_EQ(threads.size(), static_cast<std::size_t>(kThreads));
}

// All threads at one row and, several times over, at every slot of the ring.
TEST_F(TraceTest, ABusyLineStaysExact) {
  constexpr std::uint64_t kThreads = 4;
  constexpr std::uint64_t kEach = 50'000;
  ASSERT_EQ(in_child([] {
              Trace* trace = Trace::current();
              const auto name = trace->intern("item");
              std::vector<std::thread> threads;
              for (std::uint64_t t = 0; t < kThreads; ++t) {
                threads.emplace_back([trace, name] {
                  for (std::uint64_t i = 0; i < kEach; ++i) trace->record(TraceKind::kSync, name, 0, i, 1);
                });
              }
              for (std::thread& thread : threads) thread.join();
            }),
            0);
  const std::string bytes = files().front();
  EXPECT_EQ(tallies_of(bytes).at("item@").count, kThreads * kEach);
  EXPECT_EQ(tallies_of(bytes).at("item@").total, kThreads * kEach);
  EXPECT_EQ(header_of(bytes).ring_next, kThreads * kEach);
}

TEST_F(TraceTest, AForkedChildWritesItsOwnFileAndKeepsIds) {
  ASSERT_EQ(in_child([] {
              Trace* trace = Trace::current();
              trace->set_fact("torch", "2.13.0");
              const auto before = trace->intern("from before the fork");
              trace->record(TraceKind::kMark, before, 0);
              const pid_t grandchild = ::fork();
              if (grandchild == 0) {
                trace->record(TraceKind::kMark, before,
                              0);  // a stale pointer before current(): dropped, never the parent's
                Trace* own = Trace::current();
                own->record(TraceKind::kMark, before, 0);
                own->record(TraceKind::kMark, own->intern("from after the fork"), 0);
                ::_exit(0);
              }
              int status = 0;
              ::waitpid(grandchild, &status, 0);
              if (status != 0) ::_exit(1);
              trace->record(TraceKind::kMark, before, 0);
            }),
            0);
  const auto contents = files();
  ASSERT_EQ(contents.size(), 2U);
  std::map<bool, const std::string*> by_descent;
  for (const std::string& bytes : contents) {
    by_descent[header_of(bytes).parent_pid != static_cast<std::uint32_t>(::getpid())] = &bytes;
  }
  ASSERT_EQ(by_descent.size(), 2U);
  const auto parent = tallies_of(*by_descent[false]);
  const auto child = tallies_of(*by_descent[true]);
  EXPECT_EQ(parent.size(), 1U);
  EXPECT_EQ(parent.at("from before the fork@").count, 2U);
  EXPECT_EQ(child.at("from before the fork@").count, 1U);
  EXPECT_EQ(child.at("from after the fork@").count, 1U);
  const Header header = header_of(*by_descent[true]);
  EXPECT_EQ(string_of(*by_descent[true], header.facts[0] & 0xffffffff), "2.13.0");
}

TEST_F(TraceTest, OutlivesSigkill) {
  const int status = in_child([] {
    Trace* trace = Trace::current();
    for (std::uint64_t i = 0; i < 500; ++i) trace->record(TraceKind::kStep, trace->intern("Adam"), 0, i, 7);
    ::kill(::getpid(), SIGKILL);
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_EQ(files().size(), 1U);
  EXPECT_EQ(tallies_of(files().front()).at("Adam@").count, 500U);
}

TEST_F(TraceTest, FullTablesDropAndSaySo) {
  ASSERT_EQ(in_child([] {
              Trace* trace = Trace::current();
              for (int i = 0; i < 20'000; ++i) {
                const auto name = trace->intern("a name that takes some room " + std::to_string(i));
                trace->record(TraceKind::kMark, name, 0);
              }
              if (trace->intern("one more, of which there is no sign yet") != 0) ::_exit(1);
              if (trace->intern("a name that takes some room 0") == 0) ::_exit(2);
            }),
            0);
  const Header header = header_of(files().front());
  EXPECT_GT(header.dropped_strings, 0U);
  EXPECT_GT(header.dropped_tallies, 0U);
  EXPECT_LE(header.strings_used, kStrings.count);
}

TEST_F(TraceTest, StringsStayInTheirSection) {
  ASSERT_EQ(in_child([] {
              Trace* trace = Trace::current();
              for (int i = 0; i < 1000; ++i) trace->intern(std::to_string(i) + std::string(1000, 'x'));
            }),
            0);
  const Header header = header_of(files().front());
  EXPECT_GT(header.dropped_strings, 0U);
  EXPECT_LE(header.strings_used, kStrings.count);
}

TEST_F(TraceTest, ALongTextIsCutBetweenCharacters) {
  ASSERT_EQ(in_child([] {
              std::string text(kLongestString - 1, 'x');
              text += "\xc3\xa9 and more";
              Trace* trace = Trace::current();
              trace->record(TraceKind::kMark, trace->intern(text), 0);
            }),
            0);
  EXPECT_EQ(tallies_of(files().front()).begin()->first, std::string(kLongestString - 1, 'x') + "@");
}

// A profiler's trace, in a process that keeps none.
TEST_F(TraceTest, DetailsAreKeptInMemoryWhileSomebodyWantsThem) {
  ::unsetenv("ANYMPS_RUN");
  const auto says = [](bool right, int which) {
    if (!right) ::_exit(which);
  };
  const pid_t child = ::fork();
  if (child == 0) {
    says(!Trace::detailed() && Trace::current() == nullptr, 1);
    says(Trace::begin_details() && Trace::begin_details(), 2);
    Trace* trace = Trace::current();
    says(trace != nullptr && Trace::detailed(), 3);
    trace->record(TraceKind::kOperator, trace->intern("before"), 0);
    const std::uint64_t first = trace->written();
    const std::uint64_t began = Trace::now_ns();
    for (std::uint64_t i = 0; i < 3; ++i) trace->record(TraceKind::kOperator, trace->intern("mm"), 0, i, 10 * i, 7);
    std::vector<std::uint64_t> seen;
    const std::uint64_t lost = trace->read(first, [&](const TraceEvent& event) {
      says(event.kind == TraceKind::kOperator && event.name == "mm" && event.site.empty() && event.c == 7, 4);
      says(event.time_ns >= began && event.time_ns <= Trace::now_ns() && event.b == 10 * event.a, 5);
      seen.push_back(event.a);
    });
    says(lost == 0 && seen == std::vector<std::uint64_t>({0, 1, 2}), 6);
    Trace::end_details();
    says(Trace::detailed() && Trace::current() == trace, 7);
    Trace::end_details();
    says(!Trace::detailed() && Trace::current() == nullptr, 8);
    // Again, from where it was.
    says(Trace::begin_details() && Trace::current() == trace && trace->written() == first + 3, 9);
    // More than there is room for: the oldest are lost, and counted.
    constexpr std::uint64_t kMany = (std::uint64_t{1} << 20) + 5;
    for (std::uint64_t i = 0; i < kMany; ++i) trace->record(TraceKind::kOperator, 0, 0, i);
    std::uint64_t next = 5;
    const std::uint64_t overwritten =
        trace->read(first + 3, [&](const TraceEvent& event) { says(event.a == next++, 10); });
    says(overwritten == 5 && next == kMany, 11);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(TraceTest, IsKeptWithoutDetailsWhereNobodyWantsThem) {
  ::unsetenv("ANYMPS_RUN");
  EXPECT_TRUE(holds_in_child([] {
    if (!Trace::keep() || Trace::detailed() || Trace::current() == nullptr) return false;
    if (!Trace::begin_details()) return false;
    Trace::end_details();
    Trace* trace = Trace::current();
    if (trace == nullptr || Trace::detailed()) return false;
    for (std::uint64_t i = 0; i < 5; ++i) trace->record(TraceKind::kAlloc, 0, 0, i);
    std::vector<std::uint64_t> seen;
    const std::uint64_t lost = trace->read(1, [&](const TraceEvent& event) { seen.push_back(event.a); }, 4);
    // Up to an index that is overwritten by now: all of it is lost.
    constexpr std::uint64_t kMany = (std::uint64_t{1} << 20) + 100;
    for (std::uint64_t i = 0; i < kMany; ++i) trace->record(TraceKind::kAlloc, 0, 0);
    const std::uint64_t all_lost = trace->read(1, [&](const TraceEvent&) { seen.push_back(0); }, 4);
    Trace::let_go();
    return lost == 0 && seen == std::vector<std::uint64_t>({1, 2, 3}) && all_lost == 3 && Trace::current() == nullptr;
  }));
}

TEST_F(TraceTest, TheRingIsAsLongAsItIsAskedToBe) {
  ::setenv("ANYMPS_TRACE_EVENTS", "50000", 1);
  EXPECT_EQ(in_child([] { Trace::current()->record(TraceKind::kMark, 0, 0); }), 0);
  ::setenv("ANYMPS_TRACE_EVENTS", "many", 1);
  EXPECT_EQ(in_child([] { Trace::current()->record(TraceKind::kMark, 0, 0); }), 0);
  ::unsetenv("ANYMPS_TRACE_EVENTS");
  std::multiset<std::uint64_t> counts;
  for (const std::string& bytes : files()) {
    const Header header = header_of(bytes);
    EXPECT_EQ(bytes.size(), file_bytes(header.ring.count));
    counts.insert(header.ring.count);
  }
  EXPECT_EQ(counts, (std::multiset<std::uint64_t>{kRing.count, 50000}));
}

}  // namespace
}  // namespace anymps::gpu::trace
