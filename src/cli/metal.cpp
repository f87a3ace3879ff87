#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/verbs.h"
#include "lab/log.h"
#include "lab/metal_reader.h"
#include "lab/metal_screen.h"
#include "lab/terminal.h"

namespace anymps::cli {
namespace {

constexpr int kRefused = 2;

struct MetalOptions {
  std::string file;
  std::string kernel;
  std::vector<std::string> kernels;
  bool json = false;
};

int complain(const lab::MetalAnswer& answer) {
  lab::log().error(lab::on_one_line(answer.text));
  return answer.refused ? kRefused : 1;
}

int list(const MetalOptions& options) {
  std::vector<std::string> request = {"list", options.file};
  request.insert(request.end(), options.kernels.begin(), options.kernels.end());
  const lab::MetalAnswer answer = lab::ask_metal(request);
  if (!answer.answered) return complain(answer);
  const auto library = nlohmann::json::parse(answer.text);
  fmt::print("{}",
             options.json ? library.dump(2) + "\n" : lab::metal_screen(library, lab::Terminal::behind(STDOUT_FILENO)));
  std::size_t refused = 0;
  for (const auto& function : library.at("functions")) refused += function.contains("error") ? 1 : 0;
  if (refused == 0) return 0;
  lab::log().error("{} of {} functions are refused", refused, library.at("functions").size());
  return kRefused;
}

int disassemble(const MetalOptions& options) {
  const lab::MetalAnswer answer = lab::ask_metal({"disasm", options.file, options.kernel});
  if (!answer.answered) return complain(answer);
  fmt::print("{}", answer.text);
  return 0;
}

}  // namespace

void add_metal(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<MetalOptions>();
  CLI::App* verb = app.add_subcommand("metal", "Look into a Metal library");
  verb->require_subcommand(1);
  verb->footer(R"text(Examples:
  anymps metal list kernels.metallib                  every function: arguments, constants, memory, limits
  anymps metal list --json kernels.metallib add_f32   one of them, for a program
  anymps metal disasm kernels.metallib add_f32        its LLVM IR
)text");
  const auto add = [&](const char* name, const char* description, int (*action)(const MetalOptions&)) {
    CLI::App* sub = verb->add_subcommand(name, description);
    sub->add_option("FILE", options->file, "A .metallib")->required()->type_name("FILE");
    sub->callback([options, action, &chosen] { chosen = [options, action](const auto&) { return action(*options); }; });
    return sub;
  };
  CLI::App* list_verb = add("list", "List its functions and what they ask for", list);
  list_verb->add_option("KERNEL", options->kernels, "Only these");
  list_verb->add_flag("--json", options->json, "As JSON");
  add("disasm", "Print the LLVM IR of a function", disassemble)
      ->add_option("KERNEL", options->kernel, "Its name")
      ->required();
}

}  // namespace anymps::cli
