// `anymps metal run`: a kernel, launched without a program around it.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/metal/verbs.h"
#include "gpu/support/whole_number.h"
#include "lab/base/json_text.h"
#include "lab/base/safe_text.h"
#include "lab/base/terminal.h"
#include "lab/metallib/library_file.h"
#include "lab/metallib/run_screen.h"

namespace anymps::cli::metal {
namespace {

struct MetalRunOptions {
  std::string file;
  std::string kernel;
  std::string threads;
  std::string group;
  std::vector<std::string> arguments;
  std::vector<std::string> threadgroup;
  std::vector<std::string> constants;
  std::vector<std::string> outputs;
  std::uint64_t seed = 0;
  std::uint64_t repeat = 0;
  bool validate = false;
  bool json = false;
  SourceFlags source;
};

std::vector<std::string> request_of(const MetalRunOptions& options) {
  std::vector<std::string> request = lab::metallib::metal_request(
      "run", options.source.words(), {options.file, options.kernel, "threads=" + options.threads});
  const auto add = [&](const std::string& key, const std::vector<std::string>& values) {
    for (const std::string& value : values) request.push_back(fmt::format("{}={}", key, value));
  };
  if (!options.group.empty()) add("group", {options.group});
  add("arg", options.arguments);
  add("threadgroup", options.threadgroup);
  add("constant", options.constants);
  add("out", options.outputs);
  add("seed", {std::to_string(options.seed)});
  add("repeat", {std::to_string(options.repeat)});
  if (options.validate) add("validate", {"1"});
  return request;
}

// The file for a buffer, as the command line has it; empty where it names none.
std::string file_for(const MetalRunOptions& options, unsigned binding) {
  std::string file;
  for (const std::string& output : options.outputs) {
    const std::size_t equals = output.find('=');
    if (equals == std::string::npos || gpu::support::whole_number<unsigned>(output.substr(0, equals)) != binding)
      continue;
    file = output.substr(equals + 1);
  }
  return file;
}

// What the child hands over goes where the command line says, whatever else the answer may ask for.
std::optional<int> write_outputs(const MetalRunOptions& options, nlohmann::json& found, std::string_view files) {
  for (auto& output : found.at("outputs")) {
    if (!output.contains("file_bytes")) continue;
    const auto size = output.at("file_bytes").get<std::size_t>();
    const std::string file = file_for(options, output.at("binding").get<unsigned>());
    if (file.empty() || size > files.size()) {
      return complain({.text = options.file + ": refused: what came back is no answer", .refused = true});
    }
    if (const auto problem = write_answer(file, files.substr(0, size))) return problem;
    files.remove_prefix(size);
    output.erase("file_bytes");
    output["file"] = file;
  }
  return std::nullopt;
}

int run_kernel(const MetalRunOptions& options) {
  const lab::metallib::MetalAnswer answer = lab::metallib::ask_metal(request_of(options));
  if (!answer.answered) return complain(answer);
  auto found = nlohmann::json::parse(answer.text);
  if (const auto problem = write_outputs(options, found, answer.files)) return *problem;
  if (options.json) {
    lab::base::print_text(stdout, lab::base::json_pages(found));
  } else {
    lab::base::print_screen(stdout, lab::metallib::metal_run_screen(found, lab::base::Terminal::behind(STDOUT_FILENO)));
  }
  return found.at("reports").empty() ? 0 : kFound;
}

constexpr const char* kMetalRunHelp =
    R"text(Each --arg is the next buffer of the kernel, in the order of their bindings:
  3.5           a number, of the type that the kernel's signature has
  1,2,3         some of them
  zeros:1024    1024 elements; also ones:N, iota:N (0, 1, 2, ...) and random:N (floats in [-1, 1), whole numbers 0 to 99)
  @x.npy        NumPy's file of an array
  @x.bin        a file's bytes
  none          nothing is bound
A type in front comes before the signature's: half:zeros:16, int4:1,2,3,4, uint:@x.npy. Short names are known too: f16, bf16,
f32, i8 to i64, u8 to u64. Members of a struct are joined by a plus: uint:3+float:0.5.

Examples:
  anymps metal run kernels.metal scale --threads 8 --arg iota:8 --arg 2.5
  anymps metal run kernels.metallib scale --threads 1000 --group 256 --arg @in.npy --arg 2 --out 0=out.npy
  anymps metal run kernels.metallib sums --threads 64,4 --group 64 --arg zeros:4 --arg random:256 --threadgroup-bytes 0=256
  anymps metal run kernels.metallib scale --threads 8 --arg zeros:7 --arg 1 --validate    the sanitiser: one is out of bounds
  anymps metal run kernels.metallib scale --threads 1000000 --arg zeros:1000000 --arg 1 --repeat 20
)text";

}  // namespace

void add_metal_run(CLI::App& metal, options::Action& chosen) {
  auto options = std::make_shared<MetalRunOptions>();
  CLI::App* verb = metal.add_subcommand("run", "Launch a kernel and show what it wrote");
  verb->footer(kMetalRunHelp);
  verb->add_option("FILE", options->file, "A .metallib, or source: a .metal")->required()->type_name("FILE");
  verb->add_option("KERNEL", options->kernel, "Its name")->required();
  verb->add_option("--threads", options->threads, "The grid, in threads")->required()->type_name("X[,Y[,Z]]");
  verb->add_option("--group", options->group, "A threadgroup; without it as many along x as it may have")
      ->type_name("X[,Y[,Z]]");
  const auto add_each = [&](const char* name, std::vector<std::string>& values, const char* type, const char* says) {
    verb->add_option(name, values, says)->type_name(type)->allow_extra_args(false);
  };
  add_each("--arg", options->arguments, "VALUE", "The next buffer");
  add_each("--threadgroup-bytes", options->threadgroup, "INDEX=N", "The length of a threadgroup argument");
  add_each("--constant", options->constants, "ID=VALUE", "A function constant, by its number or name");
  add_each(
      "--out", options->outputs, "INDEX[=FILE]",
      "Print all of a buffer, or write it to a file (.npy, or bytes). Without: the first of those that are written");
  verb->add_option("--seed", options->seed, "Of random:N")->type_name("N");
  verb->add_option("--repeat", options->repeat, "Launch so many times more, and tell the median time")->type_name("N");
  verb->add_flag("--validate", options->validate, "Watch it with the sanitiser; status 1 where it finds something");
  add_source_flags(*verb, options->source);
  verb->add_flag("--json", options->json, "As JSON");
  verb->callback([options, &chosen] { chosen = [options](const auto&) { return run_kernel(*options); }; });
}

}  // namespace anymps::cli::metal
