#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/sr/interrupt.h"
#include "cli/sr/verbs.h"
#include "lab/base/json_text.h"
#include "lab/base/log_line.h"
#include "lab/base/safe_text.h"
#include "lab/base/units.h"
#include "lab/runbook/screen/progress.h"
#include "superres/files/store.h"

namespace anymps::cli::sr {
namespace {

struct InfoOptions {
  std::string database;
  bool json = false;
  bool quiet = false;
};

int info(const InfoOptions& options) {
  const superres::files::Store store = superres::files::Store::open(options.database);
  const std::vector<superres::files::Source> sources = store.sources();
  std::size_t skipped = 0;
  for (const superres::files::Source& source : sources) skipped += source.error.empty() ? 0 : 1;
  if (options.json) {
    auto errors = nlohmann::json::object();
    for (const superres::files::Source& source : sources) {
      if (!source.error.empty()) errors[source.name] = source.error;
    }
    std::cout << lab::base::json_pages({{"pairs", store.size()},
                                        {"files", sources.size()},
                                        {"skipped", errors},
                                        {"settings", store.settings()},
                                        {"map_bytes", store.map_bytes()},
                                        {"disk_bytes", store.disk_bytes()}});
    return 0;
  }
  fmt::print("{} pairs of {} files ({} skipped), {} on disk in a map of {}\n", store.size(), sources.size(), skipped,
             lab::base::human_bytes(store.disk_bytes()), lab::base::human_bytes(store.map_bytes()));
  for (const auto& [name, value] : store.settings().items())
    fmt::print("  {:<13} {}\n", lab::base::on_one_line(name), value.dump());
  return 0;
}

int verify_pairs(const InfoOptions& options) {
  const superres::files::Store store = superres::files::Store::open(options.database);
  const std::atomic<bool>& stop = stop_on_interrupt();
  lab::runbook::screen::Progress progress("sr verify", !options.quiet);
  std::vector<std::string> faults;
  const std::uint64_t count = store.size();
  for (std::uint64_t i = 0; i < count && !stop; ++i) {
    progress.at(static_cast<double>(i) / static_cast<double>(count), fmt::format("pair {}", i));
    try {
      store.at(i);
    } catch (const superres::files::StoreError& error) {
      faults.emplace_back(error.what());
    }
  }
  progress.clear();
  if (stop) {
    lab::base::say_warning("interrupted");
    return kUsageError;
  }
  for (const std::string& fault : faults) lab::base::say_error(fault);
  if (options.json) {
    std::cout << lab::base::json_pages({{"pairs", count}, {"faults", faults}});
  } else {
    fmt::print("{} pairs, {} damaged\n", count, faults.size());
  }
  return faults.empty() ? 0 : kBad;
}

void add_database_verb(CLI::App& app, Action& chosen, const char* name, const char* what,
                       int (*run)(const InfoOptions&)) {
  auto options = std::make_shared<InfoOptions>();
  CLI::App* verb = app.add_subcommand(name, what);
  verb->add_option("DB", options->database, "What anymps sr pack made")->required()->type_name("FILE");
  verb->add_flag("--json", options->json, "Print one JSON document");
  verb->add_flag("--quiet", options->quiet, "No progress bar");
  verb->callback([options, &chosen, run] { chosen = [options, run] { return run(*options); }; });
}

}  // namespace

void add_info(CLI::App& app, Action& chosen) {
  add_database_verb(app, chosen, "info", "Tell what a database holds", info);
}

void add_verify(CLI::App& app, Action& chosen) {
  add_database_verb(app, chosen, "verify", "Check every pair of a database by its checksum", verify_pairs);
}

}  // namespace anymps::cli::sr
