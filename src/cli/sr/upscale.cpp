#include <ATen/ATen.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "cli/sr/device.h"
#include "cli/sr/interrupt.h"
#include "cli/sr/verbs.h"
#include "gpu/support/whole_file.h"
#include "lab/base/log_line.h"
#include "lab/runbook/screen/progress.h"
#include "superres/enlarge/enlarge.h"
#include "superres/enlarge/tile_size.h"
#include "superres/files/first_line.h"
#include "superres/files/image_file.h"
#include "superres/files/png_codec.h"
#include "superres/pictures/pack.h"
#include "superres/pictures/pixels.h"
#include "superres/weights/model_file.h"
#include "superres/weights/weights.h"

namespace anymps::cli::sr {
namespace {

namespace fs = std::filesystem;

struct UpscaleOptions {
  std::string model;
  std::string input;
  std::string output;
  DeviceChoice device;
  int scale = 0;
  int tile = 0;
  bool overwrite = false;
  bool quiet = false;
};

struct Job {
  fs::path from;
  fs::path to;
};

// Numbers instead of a picture: nothing is rounded, nothing cut to what pixels can be.
bool is_tensor_file(const fs::path& path) { return path.extension() == ".safetensors"; }

// A file becomes a file, or goes into a folder that is there; a folder becomes a folder.
std::vector<Job> jobs_of(const UpscaleOptions& options) {
  const fs::path input = options.input;
  const fs::path output = options.output;
  std::vector<Job> jobs;
  if (fs::is_directory(input)) {
    for (const std::string& name : superres::pictures::pictures_in(input)) {
      // Two pictures may differ by their endings alone.
      jobs.push_back({input / name, (output / name).string() + (fs::path(name).extension() == ".png" ? "" : ".png")});
    }
    if (jobs.empty()) throw std::invalid_argument(options.input + ": it has no PNG, JPEG or WebP");
    return jobs;
  }
  if (!fs::exists(input)) throw std::invalid_argument(options.input + ": there is no such file");
  if (fs::is_directory(output)) return {{input, output / input.filename().replace_extension(".png")}};
  if (output.extension() != ".png" && !is_tensor_file(output)) {
    throw std::invalid_argument(options.output + ": pictures are written as .png, or .safetensors for their numbers");
  }
  return {{input, output}};
}

class UpscaleCommand {
 public:
  explicit UpscaleCommand(const UpscaleOptions& options) : options_(options), device_(options.device.open()) {
    network_ = superres::weights::load_model(options.model, network_options_);
    if (options.scale != 0 && options.scale != network_options_.scale) {
      throw std::invalid_argument(fmt::format("{}: it is a model for scale {}, and --scale says {}", options.model,
                                              network_options_.scale, options.scale));
    }
    network_->to(device_);
    tiles_.overlap = network_->reach();
    tiles_.tile =
        options.tile > 0 ? options.tile : superres::enlarge::tile_size(network_options_, tiles_.overlap, device_);
  }

  int run() {
    const std::vector<Job> jobs = jobs_of(options_);
    const std::atomic<bool>& stop = stop_on_interrupt();
    if (!options_.quiet)
      lab::base::say_info(fmt::format("tiles of {} pixels, and {} around", tiles_.tile, tiles_.overlap));
    lab::runbook::screen::Progress progress("sr upscale", !options_.quiet);
    std::size_t failed = 0;
    std::size_t done = 0;
    for (const Job& job : jobs) {
      if (stop) break;
      if (fs::exists(job.to) && !options_.overwrite) {
        progress.clear();
        lab::base::say_error(fmt::format("{}: it is there already; --overwrite writes it anew", job.to.string()));
        ++failed;
      } else if (!one(job, done, jobs.size(), progress)) {
        ++failed;
      }
      ++done;
    }
    progress.clear();
    if (stop) lab::base::say_warning(fmt::format("interrupted; {} of {} pictures are done", done, jobs.size()));
    if (failed == jobs.size()) return kUsageError;
    return failed > 0 || done < jobs.size() ? kBad : 0;
  }

 private:
  bool one(const Job& job, std::size_t before, std::size_t all, lab::runbook::screen::Progress& progress) {
    try {
      const superres::files::Image image = superres::files::read_image(job.from);
      const at::Tensor made = superres::enlarge::enlarged_image(
          *network_, image, network_options_.scale, device_, tiles_, [&](std::size_t done, std::size_t tiles) {
            const double share = static_cast<double>(done) / static_cast<double>(tiles);
            progress.at((static_cast<double>(before) + share) / static_cast<double>(all), job.from.filename().string());
          });
      if (job.to.has_parent_path()) fs::create_directories(job.to.parent_path());
      if (is_tensor_file(job.to)) {
        superres::weights::write_safetensors(job.to, {{{"image", made}}, {}});
        return true;
      }
      const std::vector<std::uint8_t> png = superres::files::encode_png(superres::pictures::image_of(made, image.bits));
      gpu::support::write_whole(job.to, {reinterpret_cast<const char*>(png.data()), png.size()});
      return true;
    } catch (const std::exception& error) {
      progress.clear();
      lab::base::say_error(fmt::format("{}: {}", job.from.string(), superres::files::first_line(error.what())));
      return false;
    }
  }

  const UpscaleOptions& options_;
  c10::Device device_;
  superres::networks::NetworkOptions network_options_;
  std::shared_ptr<superres::networks::Network> network_;
  superres::enlarge::TileOptions tiles_;  // become smaller where memory is short
};

}  // namespace

void add_upscale(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<UpscaleOptions>();
  CLI::App* verb = app.add_subcommand("upscale", "Enlarge pictures with a model");
  verb->add_option("MODEL", options->model, "Weights: .safetensors or .pth")->required()->type_name("FILE");
  verb->add_option("INPUT", options->input, "A picture, or a folder of them")->required()->type_name("PATH");
  verb->add_option("OUT", options->output, "The picture, or the folder; .safetensors takes the numbers")
      ->required()
      ->type_name("PATH");
  options->device.add(*verb);
  verb->add_option("--scale", options->scale, "Refuse a model for another scale");
  verb->add_option("--tile", options->tile, "Side of the tiles at low resolution (by the memory there is)")
      ->check(CLI::Range(superres::enlarge::kSmallestTile, 1 << 16));
  verb->add_flag("--overwrite", options->overwrite, "Write pictures anew that are there already");
  verb->add_flag("--quiet", options->quiet, "No progress bar");
  verb->footer(
      R"(Alpha and 16 bits are kept; pictures are written as PNG. Tiles overlap by as far as the network looks, so there are no seams.
Status: 0 all pictures are done, 1 some are, 2 none is.

Examples:
  anymps sr upscale runs/edsr/model.safetensors photo.jpg photo-2x.png
  anymps sr upscale --device cpu model.pth photos enlarged
)");
  verb->callback([options, &chosen] { chosen = [options] { return UpscaleCommand(*options).run(); }; });
}

}  // namespace anymps::cli::sr
