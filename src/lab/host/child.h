// A child process: started, waited for, its status told. Every verb that runs something runs it here.
//
// While a child runs, SIGINT, SIGTERM, SIGHUP and SIGQUIT do not end this process: they reach the child, and what the
// child makes of them is the result. One child at a time.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace anymps::lab::host {

// The user asked to stop a child that an answer was needed from.
struct Interrupted : std::runtime_error {
  Interrupted() : std::runtime_error("interrupted") {}
};

struct ChildCommand {
  std::vector<std::string> words;
  std::map<std::string, std::string> environment;  // added to this process's own
};

// Asked some times a second while the child runs; true ends it, with all that it started.
using ChildWatch = std::function<bool(pid_t child)>;

enum class ChildOutput {
  kInherit,  // standard output is this process's own
  kToError,  // standard output goes to standard error
  kCapture,  // standard output is returned
};

struct ChildResult {
  std::string start_error;  // why it could not be started; then nothing else is set
  int start_errno = 0;
  int exit_code = 0;
  int signal = 0;            // that ended it, or 0
  bool interrupted = false;  // this process was asked to stop meanwhile
  bool ended_by_watch = false;
  std::string output;  // with kCapture
  double seconds = 0;

  // As a shell has it: 127 not found, 126 cannot be executed, 128 + n ended by signal n.
  int status() const;
};

ChildResult run_child(const ChildCommand& command, ChildOutput output = ChildOutput::kInherit);

// In the background: no input, all output into a new file, in a process group of its own, so that what the child leaves
// behind can be ended with it. One that is asked to stop and does not is killed.
ChildResult run_child_watched(const ChildCommand& command, const std::string& output_path, const ChildWatch& watch);

}  // namespace anymps::lab::host
