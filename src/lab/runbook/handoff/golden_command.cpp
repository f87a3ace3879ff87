#include "lab/runbook/handoff/golden_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "lab/base/units.h"
#include "lab/host/git_state.h"
#include "lab/host/quiet_child.h"

namespace anymps::lab::runbook::handoff {
namespace {

namespace fs = std::filesystem;

// Larger files are data or weights, which have no place among sources.
constexpr std::uint64_t kLargestSource = 16 << 20;
constexpr std::uint64_t kLargestProgram = 512 << 20;

// What git says, without the line break at its end; empty where it is no repository.
std::string git(const fs::path& folder, std::vector<std::string> words) {
  words.insert(words.begin(), {"git", "-C", folder.string()});
  std::string text = host::quiet_output(words).value_or("");
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  return text;
}

bool is_python(const std::string& word) { return fs::path(word).filename().string().starts_with("python"); }

bool is_below(const fs::path& path, const fs::path& root) {
  const auto [end, ignored] = std::mismatch(root.begin(), root.end(), path.begin(), path.end());
  return end == root.end();
}

class Gatherer {
 public:
  explicit Gatherer(ProgramFiles& program) : program_(program) {}

  // A file that was named is taken whatever its size.
  void add(const fs::path& path, bool named) {
    std::error_code error;
    const std::string relative = path.lexically_relative(program_.root).generic_string();
    const fs::path target = fs::canonical(path, error);
    if (error) return leave_out(relative, "it is not there");
    if (!is_below(target, fs::canonical(program_.root, error))) return leave_out(relative, "it leads outside");
    // A submodule is a folder in git's list.
    if (!fs::is_regular_file(target, error)) return leave_out(relative, "it is no regular file");
    const std::uint64_t bytes = fs::file_size(target, error);
    if (!named && bytes > kLargestSource)
      return leave_out(relative, base::human_bytes(bytes) + " is more than sources have");
    if (!named && total_ + bytes > kLargestProgram) return leave_out(relative, "the program is too large already");
    if (!seen_.insert(relative).second) return;
    total_ += bytes;
    program_.paths.push_back(relative);
  }

  void include(const fs::path& path) {
    if (!fs::exists(path)) throw std::runtime_error(fmt::format("--include: {} is not there", path.string()));
    if (!is_below(path, program_.root)) {
      throw std::runtime_error(
          fmt::format("--include: {} lies outside of {}, the program's folder", path.string(), program_.root.string()));
    }
    if (!fs::is_directory(path)) return add(path, true);
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path)) {
      if (!entry.is_directory()) add(entry.path(), true);
    }
  }

 private:
  void leave_out(const std::string& path, std::string why) { program_.left_out.push_back({path, std::move(why)}); }

  ProgramFiles& program_;
  std::set<std::string> seen_;
  std::uint64_t total_ = 0;
};

fs::path clean(const fs::path& path) { return fs::absolute(path).lexically_normal(); }

void put_words(std::vector<std::string>& words, std::vector<std::string> more) {
  words.insert(words.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

std::string replaced_start(const std::string& word, const std::string& from, const std::string& to) {
  const std::size_t equals = word.starts_with('-') ? word.find('=') : std::string::npos;
  const std::size_t begin = equals == std::string::npos ? 0 : equals + 1;
  const std::string value = word.substr(begin);
  if (value != from && !value.starts_with(from + "/")) return word;
  return word.substr(0, begin) + to + value.substr(from.size());
}

}  // namespace

std::vector<std::string> CommandParts::without_python() const {
  std::vector<std::string> words = options;
  put_words(words, script);
  put_words(words, arguments);
  return words;
}

CommandParts command_parts(const std::vector<std::string>& command) {
  if (command.empty() || !is_python(command.front())) {
    throw std::runtime_error("the command is no Python script; for example: -- python train.py --epochs 3");
  }
  CommandParts parts;
  parts.python = command.front();
  std::size_t at = 1;
  const auto rest_from = [&](std::size_t begin) {
    return std::vector<std::string>(command.begin() + static_cast<std::ptrdiff_t>(begin), command.end());
  };
  while (at < command.size()) {
    const std::string& word = command[at];
    if (word == "-m" && at + 1 < command.size()) {
      parts.script = {word, command[at + 1]};
      parts.arguments = rest_from(at + 2);
      return parts;
    }
    if (!word.starts_with('-')) {
      parts.script = {word};
      parts.arguments = rest_from(at + 1);
      return parts;
    }
    if (word == "-c" || word == "-") break;
    parts.options.push_back(word);
    if ((word == "-X" || word == "-W") && at + 1 < command.size()) parts.options.push_back(command[++at]);
    ++at;
  }
  throw std::runtime_error("the command names no script; what is typed in cannot be handed to anybody");
}

bool same_script(const std::vector<std::string>& one, const std::vector<std::string>& other) {
  const auto words = [](const std::vector<std::string>& command) {
    const bool skip = !command.empty() && is_python(command.front());
    return std::vector<std::string>(command.begin() + (skip ? 1 : 0), command.end());
  };
  return words(one) == words(other);
}

std::vector<std::string> with_data_word(std::vector<std::string> words, const std::string& data) {
  if (data.empty()) return words;
  for (std::string& word : words) word = replaced_start(word, data, kDataWord);
  return words;
}

std::vector<std::string> with_data_path(std::vector<std::string> words, const std::string& data) {
  for (std::string& word : words) word = replaced_start(word, kDataWord, data);
  return words;
}

ProgramFiles program_files(const CommandParts& parts, const std::vector<std::string>& included) {
  ProgramFiles program;
  const fs::path here = clean(fs::current_path());
  const bool is_module = parts.script.front() == "-m";
  const fs::path script = is_module ? fs::path() : clean(parts.script.front());
  if (!is_module && !fs::is_regular_file(script)) {
    throw std::runtime_error(fmt::format("there is no script {}", parts.script.front()));
  }
  const fs::path beside = is_module ? here : script.parent_path();
  const std::string repository = git(beside, {"rev-parse", "--show-toplevel"});
  // git resolves links, which the paths here keep.
  const std::string depth = git(beside, {"rev-parse", "--show-cdup"});
  if (!repository.empty()) {
    program.root = (beside / depth).lexically_normal();
    if (!program.root.has_filename()) program.root = program.root.parent_path();
  } else {
    program.root = is_module || is_below(script, here) ? here : beside;
  }
  Gatherer gatherer(program);
  if (!repository.empty()) {
    const host::GitState state =
        host::git_state_in(git(beside, {"status", "--porcelain=v2", "--branch", "--untracked-files=no"}));
    program.commit = state.commit;
    program.modified = state.dirty;
    const std::string list = host::quiet_output({"git", "-C", program.root.string(), "ls-files", "-z"}).value_or("");
    for (std::size_t begin = 0; begin < list.size();) {
      const std::size_t end = std::min(list.find('\0', begin), list.size());
      gatherer.add(program.root / list.substr(begin, end - begin), false);
      begin = end + 1;
    }
  }
  if (!is_module) gatherer.add(script, true);
  for (const std::string& path : included) gatherer.include(clean(path));

  const bool inside = is_below(here, program.root);
  program.folder = inside ? here.lexically_relative(program.root).generic_string() : ".";
  program.script = parts.script;
  if (!is_module) program.script = {script.lexically_relative(inside ? here : program.root).generic_string()};
  return program;
}

}  // namespace anymps::lab::runbook::handoff
