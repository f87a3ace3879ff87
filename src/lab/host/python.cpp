#include "lab/host/python.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <stdexcept>
#include <system_error>

#ifdef __APPLE__
#include <mach-o/dyld.h>
#else
#include <sys/auxv.h>
#endif

namespace anymps::lab::host {
namespace fs = std::filesystem;
namespace {

// The path by which this program was started, links not resolved.
fs::path invoked_path() {
#ifdef __APPLE__
  std::array<char, 4096> buffer{};
  auto size = static_cast<std::uint32_t>(buffer.size());
  return _NSGetExecutablePath(buffer.data(), &size) == 0 ? fs::path(buffer.data()) : fs::path();
#else
  const auto* name = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  std::error_code error;
  return name != nullptr ? fs::absolute(name, error) : fs::path();
#endif
}

bool can_run(const fs::path& program) {
  std::error_code error;
  return fs::is_regular_file(program, error) && ::access(program.c_str(), X_OK) == 0;
}

}  // namespace

fs::path own_executable() {
  std::error_code error;
#ifdef __APPLE__
  return fs::canonical(invoked_path(), error);
#else
  return fs::read_symlink("/proc/self/exe", error);
#endif
}

std::string find_python() {
  if (const char* environment = std::getenv("VIRTUAL_ENV"); environment != nullptr && *environment != '\0') {
    if (const fs::path python = fs::path(environment) / "bin" / "python"; can_run(python)) return python.string();
  }
  // A link to us may lie in an environment (a build in place) or lead to one (pipx); where it leads says more.
  for (const fs::path& self : {own_executable(), invoked_path()}) {
    if (const fs::path python = self.parent_path() / "python"; !self.empty() && can_run(python)) return python.string();
  }
  return "python3";
}

std::vector<std::string> with_python(std::vector<std::string> words) {
  if (words.empty()) return words;
  // A notebook is run by a module of the package, cell by cell.
  if (words[0].ends_with(".ipynb")) words.insert(words.begin(), {"-m", "anymps._notebook"});
  if (words[0].ends_with(".py") || words[0] == "-m") words.insert(words.begin(), find_python());
  if (words[0] == "python" || words[0] == "python3") {
    words[0] = find_python();
    if (words.size() > 1 && words[1].ends_with(".ipynb")) words.insert(words.begin() + 1, {"-m", "anymps._notebook"});
  }
  return words;
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      word += text[++i];
      in_word = true;
    } else if (quote != '\0') {
      if (c == quote) {
        quote = '\0';
      } else {
        word += c;
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (in_word) words.push_back(std::move(word));
      word.clear();
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != '\0')
    throw std::invalid_argument(std::string("a ") + quote + " is never closed in: " + std::string(text));
  if (in_word) words.push_back(std::move(word));
  return words;
}

}  // namespace anymps::lab::host
