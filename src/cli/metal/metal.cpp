#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cli/metal/verbs.h"
#include "gpu/support/whole_number.h"
#include "lab/base/log.h"
#include "lab/base/safe_text.h"
#include "lab/base/terminal.h"
#include "lab/metallib/library_file.h"
#include "lab/metallib/screen.h"
#include "lab/metallib/verify.h"

namespace anymps::cli::metal {
namespace {

struct MetalOptions {
  std::string file;
  std::string kernel;
  std::vector<std::string> kernels;
  std::string sample = "1/1";
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  bool json = false;
  bool simd = false;
  SourceFlags source;
};

int list_functions(const MetalOptions& options) {
  std::vector<std::string> words = {options.file};
  words.insert(words.end(), options.kernels.begin(), options.kernels.end());
  const lab::metallib::MetalAnswer answer =
      lab::metallib::ask_metal(lab::metallib::metal_request("list", options.source.words(), words));
  if (!answer.answered) return complain(answer);
  const auto library = nlohmann::json::parse(answer.text);
  if (options.json) {
    lab::base::print_text(stdout, library.dump(2) + "\n");
  } else {
    lab::base::print_screen(stdout, lab::metallib::metal_screen(library, lab::base::Terminal::behind(STDOUT_FILENO)));
  }
  std::size_t refused = 0;
  for (const auto& function : library.at("functions")) refused += function.contains("error") ? 1 : 0;
  if (refused == 0) return 0;
  lab::base::log().error("{} of {} functions are refused", refused, library.at("functions").size());
  return kRefused;
}

int disassemble(const MetalOptions& options) {
  const lab::metallib::MetalAnswer answer = lab::metallib::ask_metal(
      lab::metallib::metal_request("disasm", options.source.words(), {options.file, options.kernel}));
  if (!answer.answered) return complain(answer);
  lab::base::print_screen(stdout, answer.text);
  return 0;
}

// "3/10": every tenth, from the third on; "10" is "1/10".
struct KernelShare {
  std::size_t from = 0;
  std::size_t step = 1;
};

std::optional<KernelShare> kernel_share(const std::string& text) {
  const std::size_t slash = text.find('/');
  const bool whole = slash == std::string::npos;
  const auto first = gpu::support::whole_number<std::size_t>(whole ? "1" : text.substr(0, slash));
  const auto step = gpu::support::whole_number<std::size_t>(whole ? text : text.substr(slash + 1));
  if (!first || !step || *first < 1 || *first > *step) return std::nullopt;
  return KernelShare{.from = *first - 1, .step = *step};
}

int verify_library(const MetalOptions& options) {
  const auto share = kernel_share(options.sample);
  if (!share) {
    lab::base::log().error("--sample takes a share such as 1/10, not {}", options.sample);
    return options::kUsageError;
  }
  const ProgressLine line;
  const lab::metallib::MetalVerification found =
      lab::metallib::verify_metal(options.file,
                                  {.flags = options.source.words(),
                                   .step = share->step,
                                   .from = share->from,
                                   .jobs = options.jobs,
                                   .simd = options.simd},
                                  [&line](std::size_t done, std::size_t of) { line.show(done, of); });
  line.clear();
  if (found.problem) return complain(*found.problem);
  if (options.json) {
    lab::base::print_text(stdout, lab::metallib::to_json(found).dump(2) + "\n");
  } else {
    lab::base::print_screen(stdout, lab::metallib::to_text(found));
  }
  if (found.interrupted) return kInterrupted;
  return found.refusals.empty() ? 0 : kRefused;
}

}  // namespace

int complain(const lab::metallib::MetalAnswer& answer) {
  if (answer.of_compiler) {
    print_messages(answer.text);
  } else {
    lab::base::log().error(lab::base::on_one_line(answer.text));
  }
  if (answer.interrupted) return kInterrupted;
  return answer.refused ? kRefused : 1;
}

ProgressLine::ProgressLine() : live_(::isatty(STDERR_FILENO) != 0) {}

void ProgressLine::show(std::size_t done, std::size_t of) const {
  if (live_) fmt::print(stderr, "\r{} of {} ({}%)", done, of, 100 * done / std::max<std::size_t>(of, 1));
}

void ProgressLine::clear() const {
  if (live_) fmt::print(stderr, "\r\033[K");
}

void add_metal(CLI::App& app, options::Action& chosen) {
  auto options = std::make_shared<MetalOptions>();
  CLI::App* verb = app.add_subcommand("metal", "Look into a Metal library, or try its kernels");
  verb->require_subcommand(1);
  verb->footer(R"text(Examples:
  anymps metal list kernels.metallib                  every function: arguments, constants, memory, limits
  anymps metal list --json kernels.metallib add_f32   one of them, for a program
  anymps metal disasm kernels.metallib add_f32        its LLVM IR
  anymps metal lower kernels.metallib add_f32         what the compiler makes of it, pass by pass
  anymps metal verify kernels.metallib --sample 1/10  compile every tenth kernel: by which route, or why not
  anymps metal compile kernels.metal                  make a library of Metal source; the other verbs take it too
  anymps metal run kernels.metal scale --threads 8 --arg iota:8 --arg 2.5
                                                      launch a kernel and show what it wrote
  anymps metal check kernels.metallib                 what is wrong with its kernels; for CI
)text");
  const auto add = [&](const char* name, const char* description, int (*action)(const MetalOptions&)) {
    CLI::App* sub = verb->add_subcommand(name, description);
    sub->add_option("FILE", options->file, "A .metallib, or source: a .metal")->required()->type_name("FILE");
    add_source_flags(*sub, options->source);
    sub->callback([options, action, &chosen] { chosen = [options, action](const auto&) { return action(*options); }; });
    return sub;
  };
  CLI::App* list_verb = add("list", "List its functions and what they ask for", list_functions);
  list_verb->add_option("KERNEL", options->kernels, "Only these");
  list_verb->add_flag("--json", options->json, "As JSON");
  CLI::App* verify_verb = add("verify", "Compile its kernels for this machine and say how it went", verify_library);
  verify_verb->add_option("--sample", options->sample, "A share of them: 3/10 is every tenth, from the third on")
      ->type_name("K/N");
  verify_verb->add_option("--jobs", options->jobs, "Threads that compile")
      ->type_name("N")
      ->check(CLI::Range(1U, 1024U));
  verify_verb->add_flag("--json", options->json, "As JSON");
  verify_verb->add_flag("--simd", options->simd,
                        "Also as code for many lanes at once, and why not where it is declined");
  add("disasm", "Print the LLVM IR of a function", disassemble)
      ->add_option("KERNEL", options->kernel, "Its name")
      ->required();
  add_metal_lower(*verb, chosen);
  add_metal_compile(*verb, chosen);
  add_metal_run(*verb, chosen);
  add_metal_check(*verb, chosen);
}

}  // namespace anymps::cli::metal
