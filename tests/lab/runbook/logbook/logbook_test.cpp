#include "lab/runbook/logbook/logbook.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <stdexcept>

#include "lab/runbook/logbook/finished_run.h"
#include "lab/runbook/test_folder.h"

namespace anymps::lab::runbook::logbook {
namespace {

using nlohmann::json;

std::string complaint_about(const std::filesystem::path& path) {
  try {
    const Logbook logbook(path);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(Logbook, ARunIsFoundAgainAsItWasPut) {
  const TestFolder folder;
  const auto path = folder.path() / "new" / "logbook.sqlite";
  std::int64_t run = 0;
  {
    Logbook logbook(path);
    run = logbook.begin("sweep", "key", {"python", "train.py", "ü \"quoted\""});
    logbook.put_part(run, "first", {{"batch", 8}});
    logbook.put_part(run, "second", {{"batch", 16}});
    logbook.put_sample(run, {{"load", 1.5}});
    logbook.put_facts(run, {{"torch", "2.13"}, {"batch", 8}});
    logbook.put_facts(run, {{"batch", 16}});
    logbook.finish(run, document::Verdict::kBad, {{"answer", 42}});
  }
  Logbook again(path);
  const auto found = again.run(run);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->verb, "sweep");
  EXPECT_EQ(found->state, RunState::kDone);
  EXPECT_EQ(found->verdict, document::Verdict::kBad);
  EXPECT_EQ(found->command, (std::vector<std::string>{"python", "train.py", "ü \"quoted\""}));
  EXPECT_EQ(found->facts, (json{{"torch", "2.13"}, {"batch", 16}}));
  EXPECT_EQ(found->document, (json{{"answer", 42}}));
  EXPECT_FALSE(found->ended.empty());
  const auto parts = again.parts(run);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].first, "first");
  EXPECT_EQ(parts[1].second["batch"], 16);
  ASSERT_EQ(again.samples(run).size(), 1U);
  EXPECT_EQ(again.samples(run)[0]["load"], 1.5);
  EXPECT_FALSE(again.run(run + 1));
}

TEST(Logbook, AnotherProgramsDatabaseIsRefusedAndLeftAlone) {
  const TestFolder folder;
  const auto path = folder.path() / "other.sqlite";
  Database(path).execute("CREATE TABLE theirs (x)");
  EXPECT_NE(complaint_about(path).find("database of another program"), std::string::npos);
  EXPECT_NE(complaint_about(path).find("other.sqlite"), std::string::npos);
  Database database(path);
  Statement tables = database.prepare("SELECT count(*) FROM sqlite_master");
  ASSERT_TRUE(tables.step());
  EXPECT_EQ(tables.number(0), 1);
}

TEST(Logbook, AFileThatIsNoDatabaseIsRefused) {
  const TestFolder folder;
  folder.write("text", std::string(5000, 'x'));
  EXPECT_NE(complaint_about(folder.path() / "text").find("cannot be used"), std::string::npos);
}

TEST(Logbook, ANewerVersionIsRefused) {
  const TestFolder folder;
  const auto path = folder.path() / "logbook.sqlite";
  EXPECT_EQ(complaint_about(path), "");
  Database(path).execute("PRAGMA user_version = 99");
  EXPECT_NE(complaint_about(path).find("newer anymps"), std::string::npos);
}

TEST(Logbook, AnUnfinishedRunIsFoundAgain) {
  const TestFolder folder;
  Logbook logbook(folder.path() / "logbook.sqlite");
  const std::int64_t run = logbook.begin("sweep", "key", {});
  EXPECT_EQ(logbook.unfinished("sweep", "key"), run);
  EXPECT_EQ(logbook.unfinished("sweep", "other"), std::nullopt);
  EXPECT_EQ(logbook.unfinished("plateau", "key"), std::nullopt);
  logbook.interrupt(run);
  EXPECT_EQ(logbook.run(run)->state, RunState::kInterrupted);
  EXPECT_EQ(logbook.unfinished("sweep", "key"), run);
  logbook.take_over(run);
  logbook.finish(run, document::Verdict::kGood, {});
  EXPECT_EQ(logbook.unfinished("sweep", "key"), std::nullopt);
}

TEST(Logbook, ARunOfALivingProcessIsNotTaken) {
  const TestFolder folder;
  const auto path = folder.path() / "logbook.sqlite";
  Logbook logbook(path);
  int ready[2];
  int hold[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(hold), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(hold[1]);
    char byte = 'x';
    Logbook(path).begin("sweep", "key", {});
    if (::write(ready[1], &byte, 1) == 1) static_cast<void>(::read(hold[0], &byte, 1));
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  const auto while_it_lives = logbook.unfinished("sweep", "key");
  ::close(hold[1]);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(while_it_lives, std::nullopt);
  EXPECT_TRUE(logbook.unfinished("sweep", "key"));
  for (const int end : {ready[0], ready[1], hold[0]}) ::close(end);
}

// What `work` does in as many processes as there are, at once; false where one of them could not.
bool all_at_once(int processes, const std::function<void()>& work) {
  std::vector<pid_t> children;
  for (int i = 0; i < processes; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      int status = 0;
      try {
        work();
      } catch (const std::exception& error) {
        std::fputs((std::string(error.what()) + "\n").c_str(), stderr);
        status = 2;
      }
      ::_exit(status);
    }
    children.push_back(child);
  }
  bool all = true;
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    all = all && status == 0;
  }
  return all;
}

TEST(Logbook, ManyMakeTheSameFileAtOnce) {
  const TestFolder folder;
  for (int round = 0; round < 50; ++round) {
    const auto path = folder.path() / (std::to_string(round) + ".sqlite");
    ASSERT_TRUE(all_at_once(4, [&path] { Logbook(path).put_note(0, "note", "made", ""); })) << round;
    EXPECT_EQ(Logbook(path).notes().size(), 4U);
  }
}

TEST(Logbook, TwoWritersAtOnceLoseNothing) {
  const TestFolder folder;
  const auto path = folder.path() / "logbook.sqlite";
  constexpr int kRuns = 20;
  EXPECT_TRUE(all_at_once(2, [&path] {
    Logbook logbook(path);
    for (int j = 0; j < kRuns; ++j) {
      const std::int64_t run = logbook.begin("sweep", std::to_string(::getpid()), {});
      logbook.put_facts(run, {{"number", j}});
      logbook.finish(run, document::Verdict::kGood, {});
    }
  }));
  Logbook logbook(path);
  const auto runs = logbook.runs({}, 1000);
  EXPECT_EQ(runs.size(), 2U * kRuns);
  for (const LoggedRun& run : runs) EXPECT_TRUE(run.facts.contains("number"));
}

TEST(Logbook, NotesAreKeptByKind) {
  const TestFolder folder;
  Logbook logbook(folder.path() / "logbook.sqlite");
  logbook.put_note(0, "note", "warm day", "");
  logbook.put_note(3, "rejected", "channels_last", "no faster");
  EXPECT_EQ(logbook.notes().size(), 2U);
  ASSERT_EQ(logbook.notes("rejected").size(), 1U);
  EXPECT_EQ(logbook.notes("rejected")[0].why, "no faster");
  EXPECT_EQ(logbook.notes("rejected")[0].run, 3);
}

TEST(Logbook, ARowOfAnotherKindIsReadAsOneWithoutADocument) {
  const TestFolder folder;
  const auto path = folder.path() / "logbook.sqlite";
  Logbook logbook(path);
  const std::int64_t run = logbook.begin("sweep", "key", {"python"});
  for (const char* text : {"[1]", "\"sweep\"", "7", "{", "null"}) {
    Database(path).execute(
        fmt::format("UPDATE runs SET state = 'done', facts = '{0}', document = '{0}'", text).c_str());
    EXPECT_TRUE(logbook.run(run)->document.is_null()) << text;
    EXPECT_EQ(finished(*logbook.run(run)).verb(), "sweep") << text;
  }
}

TEST(Logbook, ATransactionThatIsNotCommittedIsUndone) {
  const TestFolder folder;
  Database database(folder.path() / "plain.sqlite");
  database.execute("CREATE TABLE t (x)");
  {
    Transaction transaction(database);
    database.prepare("INSERT INTO t VALUES (?)").bind(std::int64_t{1}).run();
  }
  Statement count = database.prepare("SELECT count(*) FROM t");
  ASSERT_TRUE(count.step());
  EXPECT_EQ(count.number(0), 0);
  EXPECT_THROW(database.execute("NONSENSE"), std::runtime_error);
}

}  // namespace
}  // namespace anymps::lab::runbook::logbook
