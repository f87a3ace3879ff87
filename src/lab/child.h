// A child process: started, waited for, its status told. Every verb that runs something runs it here.
//
// While a child runs, SIGINT, SIGTERM, SIGHUP and SIGQUIT do not end this process: they reach the child, and what the
// child makes of them is the result. One child at a time.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace anymps::lab {

struct ChildCommand {
  std::vector<std::string> words;
  std::map<std::string, std::string> environment;  // added to this process's own
};

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
  std::string output;        // with kCapture
  double seconds = 0;

  // As a shell has it: 127 not found, 126 cannot be executed, 128 + n ended by signal n.
  int status() const;
};

ChildResult run_child(const ChildCommand& command, ChildOutput output = ChildOutput::kInherit);

}  // namespace anymps::lab
