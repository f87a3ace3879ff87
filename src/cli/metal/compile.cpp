// `anymps metal compile`, and what other verbs take to compile source.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "cli/metal/verbs.h"
#include "gpu/support/whole_file.h"
#include "lab/base/counted.h"
#include "lab/base/safe_text.h"
#include "lab/metallib/library_file.h"
#include "lab/metallib/screen.h"

namespace anymps::cli::metal {
namespace {

struct CompileOptions {
  std::string file;
  std::string out;
  SourceFlags source;
};

int compile(const CompileOptions& options) {
  const std::filesystem::path file = options.file;
  const std::string out =
      options.out.empty() ? std::filesystem::path(file).replace_extension(".metallib").string() : options.out;
  if (file.extension() != ".metal") {
    return complain({.text = options.file + ": a file of Metal source ends in .metal", .refused = true});
  }
  const lab::metallib::MetalAnswer answer =
      lab::metallib::ask_metal(lab::metallib::metal_request("compile", options.source.words(), {options.file}));
  if (!answer.answered) return complain(answer);
  if (const auto problem = write_answer(out, answer.files)) return *problem;
  const auto compiled = nlohmann::json::parse(answer.text);
  print_messages(compiled.at("warnings").get<std::string>());
  fmt::print("{}: {}, {} bytes\n", out, lab::base::counted(compiled.at("kernels").size(), "kernel"),
             compiled.at("bytes").get<std::size_t>());
  return 0;
}

}  // namespace

std::optional<int> write_answer(const std::string& file, std::string_view bytes) {
  try {
    gpu::support::write_whole(file, bytes);
  } catch (const std::runtime_error&) {
    return complain({.text = file + ": cannot be written", .refused = true});
  }
  return std::nullopt;
}

std::vector<std::string> SourceFlags::words() const {
  std::vector<std::string> words;
  for (const std::string& folder : folders) words.push_back("-I" + folder);
  for (const std::string& define : defines) words.push_back("-D" + define);
  if (fast_math) words.emplace_back("-ffast-math");
  return words;
}

void add_source_flags(CLI::App& verb, SourceFlags& flags) {
  verb.add_option("-I", flags.folders, "For source: a folder that it includes from")
      ->type_name("DIR")
      ->allow_extra_args(false);
  verb.add_option("-D", flags.defines, "For source: a macro")->type_name("NAME[=VALUE]")->allow_extra_args(false);
  verb.add_flag("--fast-math", flags.fast_math, "For source: floating point as if there were no NaN nor order");
}

void print_messages(const std::string& messages) {
  lab::base::print_screen(stderr, messages);
  if (!messages.empty() && messages.back() != '\n') lab::base::print_screen(stderr, "\n");
}

void add_metal_compile(CLI::App& metal, options::Action& chosen) {
  auto options = std::make_shared<CompileOptions>();
  CLI::App* verb = metal.add_subcommand("compile", "Compile Metal source into a library");
  verb->footer(R"text(Examples:
  anymps metal compile kernels.metal                      writes kernels.metallib
  anymps metal compile kernels.metal -I include -D N=4 -o build/kernels.metallib

`torch.mps.load_metallib` loads what is written. The source's own folder need not be named.
)text");
  verb->add_option("FILE", options->file, "Metal source, a .metal")->required()->type_name("FILE");
  verb->add_option("-o,--output", options->out, "The library; without it beside the source")->type_name("FILE");
  add_source_flags(*verb, options->source);
  verb->callback([options, &chosen] { chosen = [options](const auto&) { return compile(*options); }; });
}

}  // namespace anymps::cli::metal
