#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "cli/sr/verbs.h"
#include "superres/weights/weights.h"

namespace anymps::cli::sr {
namespace {

namespace fs = std::filesystem;

struct ConvertOptions {
  std::string from;
  std::string to;
  bool overwrite = false;
};

int convert(const ConvertOptions& options) {
  const fs::path to = options.to;
  const bool is_safetensors = to.extension() == ".safetensors";
  if (!is_safetensors && to.extension() != ".pth" && to.extension() != ".pt") {
    throw std::invalid_argument(options.to + ": weights are written as .safetensors, .pth or .pt");
  }
  if (fs::exists(to) && !options.overwrite) {
    throw std::invalid_argument(options.to + ": it is there already; --overwrite writes it anew");
  }
  const superres::weights::Weights weights = superres::weights::read_weights(options.from);
  if (is_safetensors) {
    superres::weights::write_safetensors(to, weights);
  } else {
    superres::weights::write_torch(to, weights);
  }
  fmt::print("{}: {} tensors\n", options.to, weights.tensors.size());
  return 0;
}

}  // namespace

void add_convert(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<ConvertOptions>();
  CLI::App* verb = app.add_subcommand("convert", "Write a file of weights in another format");
  verb->add_option("MODEL", options->from, "Weights: .safetensors or .pth")->required()->type_name("FILE");
  verb->add_option("OUT", options->to, "The same as .safetensors, .pth or .pt")->required()->type_name("FILE");
  verb->add_flag("--overwrite", options->overwrite, "Write it anew where it is there already");
  verb->footer(
      R"(Nothing in the file is executed. A checkpoint's other contents, such as an optimiser's state, are left out.

Examples:
  anymps sr convert runs/edsr/model.safetensors edsr.pth
)");
  verb->callback([options, &chosen] { chosen = [options] { return convert(*options); }; });
}

}  // namespace anymps::cli::sr
