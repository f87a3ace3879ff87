// `anymps metal check`: for CI.
#include "lab/metallib/check.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/metal/verbs.h"
#include "lab/base/safe_text.h"

namespace anymps::cli::metal {
namespace {

struct MetalCheckOptions {
  std::vector<std::string> files;
  bool json = false;
  SourceFlags source;
};

int check_libraries(const MetalCheckOptions& options) {
  int status = 0;
  nlohmann::json files = nlohmann::json::array();
  for (const std::string& file : options.files) {
    const ProgressLine line;
    const lab::metallib::MetalCheck found = lab::metallib::check_metal(
        file, options.source.words(), [&line](std::size_t done, std::size_t of) { line.show(done, of); });
    line.clear();
    if (found.problem) {
      const int refusal = complain(*found.problem);
      if (found.problem->interrupted) return refusal;
      status = std::max(status, refusal);
      continue;
    }
    print_messages(found.compiler_warnings);
    if (!options.json) lab::base::print_screen(stdout, lab::metallib::to_text(found));
    files.push_back(lab::metallib::to_json(found));
    if (found.errors != 0) status = std::max(status, kFound);
    if (found.refusals != 0) status = kRefused;
    if (found.interrupted) {
      status = kInterrupted;
      break;
    }
  }
  if (options.json) fmt::print("{}\n", nlohmann::json{{"version", 1}, {"files", files}}.dump(2));
  return status;
}

constexpr const char* kMetalCheckHelp = R"text(Each kernel is compiled; its code is looked at:
  missing barrier     threadgroup memory is read where another thread writes, with no barrier between
  unguarded index     a buffer is written at thread_position_in_grid, which nothing compares with a bound (a warning)
  deprecated forms    of Metal and of the program's own ([[deprecated]]), among the compiler's warnings
and it is launched with the sanitiser on inputs that are made up, in several shapes: races, accesses out of bounds,
threadgroup memory that nobody has written, barriers that not all threads come to. What is seen in some shapes only, or
depends on whole numbers that are made up, is a warning.

The status is 1 where there is an error, 2 where a file or a kernel is refused; warnings leave it 0.

Examples:
  anymps metal check kernels.metal
  anymps metal check --json build/*.metallib > findings.json
)text";

}  // namespace

void add_metal_check(CLI::App& metal, options::Action& chosen) {
  auto options = std::make_shared<MetalCheckOptions>();
  CLI::App* verb = metal.add_subcommand("check", "Say what is wrong with kernels; for CI");
  verb->footer(kMetalCheckHelp);
  verb->add_option("FILE", options->files, "Some .metallib, or source: .metal")->required()->type_name("FILE");
  add_source_flags(*verb, options->source);
  verb->add_flag("--json", options->json, "As JSON");
  verb->callback([options, &chosen] { chosen = [options](const auto&) { return check_libraries(*options); }; });
}

}  // namespace anymps::cli::metal
