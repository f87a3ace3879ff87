#include "lab/host/child.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "scratch_folder.h"

namespace anymps::lab::host {
namespace {

namespace fs = std::filesystem;

ChildCommand shell(const std::string& script) { return {{"sh", "-c", script}, {}}; }

TEST(Child, ReturnsTheStatusOfTheProgram) {
  EXPECT_EQ(run_child(shell("exit 0")).status(), 0);
  EXPECT_EQ(run_child(shell("exit 7")).status(), 7);
}

TEST(Child, EndsBySignalAsAShellSaysIt) {
  const ChildResult result = run_child(shell("kill -KILL $$"));
  EXPECT_EQ(result.signal, SIGKILL);
  EXPECT_EQ(result.status(), 128 + SIGKILL);
  EXPECT_FALSE(result.interrupted);
}

TEST(Child, TellsWhyItCannotStart) {
  const ChildResult missing = run_child({{"no-such-program-anywhere"}, {}});
  EXPECT_NE(missing.start_error, "");
  EXPECT_EQ(missing.status(), 127);
  const ChildResult folder = run_child({{"/"}, {}});
  EXPECT_NE(folder.start_error, "");
  EXPECT_EQ(folder.status(), 126);
}

TEST(Child, AddsToTheEnvironmentAndReplaces) {
  ::setenv("CHILD_TEST_OLD", "old", 1);
  ChildCommand command = shell("printf '%s %s' \"$CHILD_TEST_OLD\" \"$CHILD_TEST_NEW\"");
  EXPECT_EQ(run_child(command, ChildOutput::kCapture).output, "old ");
  command.environment = {{"CHILD_TEST_OLD", "replaced"}, {"CHILD_TEST_NEW", "new"}};
  EXPECT_EQ(run_child(command, ChildOutput::kCapture).output, "replaced new");
  ::unsetenv("CHILD_TEST_OLD");
}

TEST(Child, CapturesMoreThanAPipeHolds) {
  EXPECT_EQ(run_child(shell("head -c 300000 /dev/zero"), ChildOutput::kCapture).output.size(), 300000U);
}

// A signal to this process reaches the child, and this process lives on to tell the result.
TEST(Child, ForwardsATerminationRequest) {
  for (const int number : {SIGTERM, SIGINT}) {
    const ScratchFolder folder;
    const std::string ready = folder.path() / "ready";
    const pid_t driver = ::fork();
    if (driver == 0) {
      ::signal(number, SIG_DFL);
      const ChildResult result =
          run_child(shell("trap 'exit 42' TERM INT; : > " + ready + "; while :; do sleep 0.02; done"));
      ::_exit(result.interrupted && result.exit_code == 42 ? 0 : 1);
    }
    for (int i = 0; i < 500 && !fs::exists(ready); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ::kill(driver, number);
    int status = -1;
    ::waitpid(driver, &status, 0);
    EXPECT_EQ(status, 0) << "signal " << number;
  }
}

TEST(Child, PutsTheHandlersBack) {
  struct sigaction before{};
  struct sigaction after{};
  ::sigaction(SIGINT, nullptr, &before);
  run_child(shell(":"));
  ::sigaction(SIGINT, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
  sigset_t mask;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  EXPECT_EQ(sigismember(&mask, SIGINT), 0);
}

// Under nohup SIGHUP is ignored, and must be so in the child.
TEST(Child, WhatWasIgnoredStaysIgnored) {
  auto* before = ::signal(SIGHUP, SIG_IGN);
  const ChildResult result = run_child(shell("kill -HUP $$; exit 5"));
  ::signal(SIGHUP, before);
  EXPECT_EQ(result.status(), 5);
}

}  // namespace
}  // namespace anymps::lab::host
