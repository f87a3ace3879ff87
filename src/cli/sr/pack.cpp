#include "superres/pictures/pack.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/sr/interrupt.h"
#include "cli/sr/verbs.h"
#include "lab/base/json_text.h"
#include "lab/base/log_line.h"
#include "lab/runbook/screen/progress.h"

namespace anymps::cli::sr {
namespace {

struct PackVerbOptions {
  std::string folder;
  std::string database;
  superres::pictures::PackOptions pack;
  std::string downscale = "bicubic";
  bool json = false;
  bool quiet = false;
};

int pack_images(PackVerbOptions options) {
  options.pack.degradation.downscale = superres::pictures::downscale_from(options.downscale);
  options.pack.degradation.check();
  if (options.pack.crop != 0 && options.pack.crop < options.pack.degradation.scale) {
    throw std::invalid_argument("--crop is smaller than the scale");
  }
  // Before a database is made for nothing.
  const std::vector<std::string> names = superres::pictures::pictures_in(options.folder);
  if (names.empty()) {
    throw std::invalid_argument(fmt::format("{}: it has no PNG, JPEG or WebP", options.folder));
  }
  const std::atomic<bool>& stop = stop_on_interrupt();
  superres::files::Store store = superres::files::Store::append_to(options.database, options.pack.to_json());
  lab::runbook::screen::Progress progress("sr pack", !options.quiet);
  const superres::pictures::PackReport report =
      superres::pictures::pack(options.folder, names, store, options.pack, stop,
                               [&](std::uint64_t done, std::uint64_t all, const std::string& name) {
                                 progress.at(static_cast<double>(done) / static_cast<double>(all), name);
                               });
  progress.clear();
  for (const std::string& skipped : report.skipped) lab::base::say_warning(fmt::format("skipped {}", skipped));
  if (report.interrupted) lab::base::say_warning("interrupted; the same command goes on from there");
  if (options.json) {
    std::cout << lab::base::json_pages({{"files", report.files},
                                        {"already_there", report.before},
                                        {"pairs_added", report.pairs},
                                        {"pairs", store.size()},
                                        {"skipped", report.skipped},
                                        {"interrupted", report.interrupted}});
  } else {
    fmt::print("{}: {} pairs, {} of them new, of {} files ({} were there already, {} skipped)\n", options.database,
               store.size(), report.pairs, report.files, report.before, report.skipped.size());
  }
  if (store.size() == 0) {
    lab::base::say_error("no picture could be used");
    return kUsageError;
  }
  return report.interrupted ? kBad : 0;
}

}  // namespace

void add_pack(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<PackVerbOptions>();
  CLI::App* verb = app.add_subcommand("pack", "Make a database of pairs from a folder of pictures");
  verb->add_option("IMAGES", options->folder, "A folder with PNG, JPEG and WebP files")
      ->required()
      ->type_name("FOLDER");
  verb->add_option("DB", options->database, "The database; added to where it is there")->required()->type_name("FILE");
  superres::pictures::Degradation& degradation = options->pack.degradation;
  verb->add_option("--scale", degradation.scale, "How much smaller the low resolution is: 2, 3 or 4")
      ->capture_default_str();
  verb->add_option("--crop", options->pack.crop, "Cut pictures into squares of this side; 0 keeps them whole")
      ->capture_default_str();
  verb->add_option("--downscale", options->downscale, "bicubic (with antialias), area, or mixed")
      ->capture_default_str();
  verb->add_option("--noise", degradation.noise, "Add noise, up to this standard deviation (of 255)")
      ->capture_default_str();
  verb->add_option("--jpeg", degradation.jpeg_quality, "Compress as JPEG, down to this quality; 0: do not")
      ->capture_default_str();
  verb->add_option("--seed", degradation.seed, "Of the chance in these")->capture_default_str();
  verb->add_flag("--json", options->json, "Print one JSON document");
  verb->add_flag("--quiet", options->quiet, "No progress bar");
  verb->footer(
      R"(Files that cannot be read are told and skipped. A run that was interrupted or killed goes on where it was with the same
command; new files in the folder are added. The file's map is a terabyte, and takes on disk what it holds.
Status: 0 all was packed, 1 interrupted, 2 nothing could be.

Examples:
  anymps sr pack pictures train.lmdb --scale 2 --crop 256
  anymps sr pack pictures train.lmdb --scale 4 --downscale mixed --noise 5 --jpeg 60
)");
  verb->callback([options, &chosen] { chosen = [options] { return pack_images(*options); }; });
}

}  // namespace anymps::cli::sr
