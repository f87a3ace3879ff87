// The command that a handoff is about, taken apart into what stays the same on every host and what does not.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace anymps::lab::runbook::handoff {

// Stands in the words for where the data set lies.
constexpr const char* kDataWord = "{data}";

struct CommandParts {
  std::string python;                // as it was given
  std::vector<std::string> options;  // of the interpreter
  std::vector<std::string> script;   // {"train.py"} or {"-m", "package.train"}
  std::vector<std::string> arguments;

  // What every host has in common.
  std::vector<std::string> without_python() const;
};

// Throws std::runtime_error where the command is no Python script or module: nothing else can be recorded elsewhere.
CommandParts command_parts(const std::vector<std::string>& command);

// Whether two commands run the same script with the same arguments, whichever interpreter they name.
bool same_script(const std::vector<std::string>& one, const std::vector<std::string>& other);

// `words` with kDataWord in the place of the path `data`, and back.
std::vector<std::string> with_data_word(std::vector<std::string> words, const std::string& data);
std::vector<std::string> with_data_path(std::vector<std::string> words, const std::string& data);

struct LeftOut {
  std::string path;
  std::string why;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("path", self.path);
    fields("why", self.why);
  }
};

// The files that belong to a script: those that its git repository tracks, or else what the user names.
struct ProgramFiles {
  std::filesystem::path root;
  std::string folder;               // below the root, in which the command is started; "." for itself
  std::vector<std::string> script;  // as seen from there
  std::vector<std::string> paths;   // below the root
  std::vector<LeftOut> left_out;
  std::string commit;  // empty: no git repository
  bool modified = false;
};

// As seen from the current folder. Throws std::runtime_error where the script or an included path is not there.
ProgramFiles program_files(const CommandParts& parts, const std::vector<std::string>& included);

}  // namespace anymps::lab::runbook::handoff
