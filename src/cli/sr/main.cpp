// anymps-sr: what `anymps sr` starts. A program of its own, because it needs libtorch, and the other verbs do not.
#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cli/options/help_formatter.h"
#include "cli/sr/verbs.h"
#include "lab/base/log_line.h"
#include "lab/base/standard_output.h"
#include "superres/files/first_line.h"

namespace anymps::cli::sr {
namespace {

int run_words(const std::vector<std::string>& words) {
  CLI::App app("Super-resolution: pack pictures, train a network on them, enlarge others.", "anymps sr");
  app.formatter(std::make_shared<options::HelpFormatter>());
  app.set_help_flag("-h,--help", "Show this help and exit");
  app.require_subcommand(1);
  Action chosen;
  add_pack(app, chosen);
  add_info(app, chosen);
  add_verify(app, chosen);
  add_train(app, chosen);
  add_upscale(app, chosen);
  add_convert(app, chosen);
  for (CLI::App* verb : app.get_subcommands([](CLI::App*) { return true; })) verb->group("Verbs");
  if (words.empty()) {
    std::cout << app.help();
    return kUsageError;
  }
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // the parser takes words from the back
  } catch (const CLI::Success& answer) {
    return app.exit(answer);
  } catch (const CLI::ParseError& error) {
    lab::base::say_error(fmt::format("{} (see anymps sr --help)", error.what()));
    return kUsageError;
  }
  try {
    return chosen();
  } catch (const std::exception& error) {
    if (!lab::base::output_failed()) lab::base::say_error(superres::files::first_line(error.what()));
    return kUsageError;
  }
}

}  // namespace
}  // namespace anymps::cli::sr

int main(int argc, char** argv) {
  return anymps::lab::base::status_after_output(anymps::cli::sr::run_words({argv + 1, argv + argc}));
}
