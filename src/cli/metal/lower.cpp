// `anymps metal lower`: what each pass does to a kernel.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/metal/verbs.h"
#include "gpu/support/edit_distance.h"
#include "lab/base/log.h"
#include "lab/base/safe_text.h"
#include "lab/metallib/library_file.h"
#include "metal/lower/support/pass_instrumentation.h"

namespace anymps::cli::metal {
namespace {

namespace passes = anymps::metal::lower::support;

struct LowerOptions {
  std::string file;
  std::string kernel;
  std::string stop_after;
  std::string print_after;
  bool time_passes = false;
  bool simd = false;
  bool coroutines = false;
  bool validate = false;
  SourceFlags source;
};

bool is_pass(const char* option, const std::string& name) {
  if (passes::pass_named(name)) return true;
  const auto nearest = std::ranges::min_element(passes::kPasses, {}, [&](const passes::PassDescription& pass) {
    return gpu::support::edits_between(name, pass.name);
  });
  lab::base::log().error("{}: there is no pass {}; the nearest is {} (`anymps metal lower --help` lists all)", option,
                         lab::base::on_one_line(name), nearest->name);
  return false;
}

int lower(const LowerOptions& options) {
  std::vector<std::string> words = {options.file, options.kernel};
  if (!options.stop_after.empty()) {
    if (!is_pass("--stop-after", options.stop_after)) return options::kUsageError;
    words.push_back("stop-after=" + options.stop_after);
  }
  if (!options.print_after.empty()) {
    if (options.print_after != "all" && !is_pass("--print-after", options.print_after)) return options::kUsageError;
    words.push_back("print-after=" + options.print_after);
  }
  if (options.time_passes) words.emplace_back("time-passes");
  if (options.simd) words.emplace_back("simd");
  if (options.coroutines) words.emplace_back("coroutines");
  if (options.validate) words.emplace_back("validate");
  const lab::metallib::MetalAnswer answer =
      lab::metallib::ask_metal(lab::metallib::metal_request("lower", options.source.words(), words));
  if (!answer.answered) return complain(answer);
  lab::base::print_screen(stdout, answer.text);
  return 0;
}

std::string footer() {
  std::string text = R"text(Examples:
  anymps metal lower kernels.metal scale                            LLVM IR as it is compiled for this machine
  anymps metal lower kernels.metal scale --stop-after flatten       as the passes up to that one leave it
  anymps metal lower kernels.metal scale --simd --print-after all   after each pass, as the vectorizer goes
  anymps metal lower kernels.metal scale --time-passes | tail -40   how long each took

Passes, in their order; a kernel comes to those that it needs:
)text";
  for (const passes::PassDescription& pass : passes::kPasses)
    text += fmt::format("  {:<28} {}\n", pass.name, pass.text);
  return text;
}

}  // namespace

void add_metal_lower(CLI::App& metal, options::Action& chosen) {
  auto options = std::make_shared<LowerOptions>();
  CLI::App* verb = metal.add_subcommand("lower", "Show what each pass of the compiler does to a kernel");
  verb->footer(footer());
  verb->add_option("FILE", options->file, "A .metallib, or source: a .metal")->required()->type_name("FILE");
  verb->add_option("KERNEL", options->kernel, "Its name")->required();
  verb->add_option("--stop-after", options->stop_after, "The module as this pass leaves it")->type_name("PASS");
  verb->add_option("--print-after", options->print_after,
                   "The module after this pass, or after all of them, one by one")
      ->type_name("PASS|all");
  verb->add_flag("--time-passes", options->time_passes, "Behind the module, how long each pass took");
  verb->add_flag("--simd", options->simd, "As code for many lanes at once");
  verb->add_flag("--coroutines", options->coroutines, "With a coroutine for each thread, also where none waits");
  verb->add_flag("--validate", options->validate, "With the sanitiser's calls");
  add_source_flags(*verb, options->source);
  verb->callback([options, &chosen] { chosen = [options](const auto&) { return lower(*options); }; });
}

}  // namespace anymps::cli::metal
