// What the verbs under `anymps metal` share, and those that have a file of their own.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/verb.h"
#include "lab/metallib/reader.h"

namespace CLI {
class App;
}

namespace anymps::cli::metal {

constexpr int kFound = 1;    // something that the verb looks for
constexpr int kRefused = 2;  // a file
constexpr int kInterrupted = 130;

// Why there is no answer, on standard error; the status to end with.
int complain(const lab::metallib::MetalAnswer& answer);

// Of a verb that takes long, on a terminal.
class ProgressLine {
 public:
  ProgressLine();
  void show(std::size_t done, std::size_t of) const;
  void clear() const;

 private:
  bool live_;
};

// How source is compiled, for verbs that take it in place of a library.
struct SourceFlags {
  std::vector<std::string> folders;
  std::vector<std::string> defines;
  bool fast_math = false;

  std::vector<std::string> words() const;
};
void add_source_flags(CLI::App& verb, SourceFlags& flags);

// What comes from a compiler, on standard error.
void print_messages(const std::string& messages);

// Writes what a child handed over. Where it cannot be written, says so; the status to end with.
std::optional<int> write_answer(const std::string& file, std::string_view bytes);

void add_metal(CLI::App& app, options::Action& chosen);
void add_replay(CLI::App& app, options::Action& chosen);
void add_metal_lower(CLI::App& metal, options::Action& chosen);
void add_metal_compile(CLI::App& metal, options::Action& chosen);
void add_metal_run(CLI::App& metal, options::Action& chosen);
void add_metal_check(CLI::App& metal, options::Action& chosen);

}  // namespace anymps::cli::metal
