#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "cli/verbs.h"
#include "gpu/cache_folder.h"
#include "lab/log.h"
#include "lab/summary_screen.h"

namespace anymps::cli {
namespace {

std::string describe(const gpu::CacheFolder::Usage& usage) {
  return fmt::format("{} in {} file{}", lab::human_bytes(usage.bytes), usage.files, usage.files == 1 ? "" : "s");
}

int info() {
  const auto cache = gpu::CacheFolder::of_this_user();
  if (cache.path().empty()) {
    lab::log().error("no cache folder: neither ANYMPS_CACHE, XDG_CACHE_HOME nor a home folder is known");
    return 1;
  }
  if (!cache.exists()) {
    fmt::print("{}  does not exist yet\n", cache.path().string());
  } else if (!cache.is_ours()) {
    fmt::print("{}  was not made by anymps\n", cache.path().string());
  } else {
    fmt::print("{}  {}\n", cache.path().string(), describe(cache.usage()));
  }
  return 0;
}

int clear() {
  const auto cache = gpu::CacheFolder::of_this_user();
  const auto cleared = cache.clear();
  if (cleared.refusal) {
    lab::log().error(*cleared.refusal);
    return 1;
  }
  fmt::print("freed {}\n", describe(cleared.freed));
  return 0;
}

}  // namespace

void add_cache(CLI::App& app, Action& chosen) {
  CLI::App* verb = app.add_subcommand("cache", "Show or clear what anymps keeps on disk");
  verb->require_subcommand(1);
  verb->footer("The folder is $ANYMPS_CACHE, else $XDG_CACHE_HOME/anymps, else ~/.cache/anymps.\n");
  verb->add_subcommand("info", "Show where the cache is and how large")->callback([&chosen] {
    chosen = [](const auto&) { return info(); };
  });
  verb->add_subcommand("clear", "Remove the cache; everything in it can be made again")->callback([&chosen] {
    chosen = [](const auto&) { return clear(); };
  });
}

}  // namespace anymps::cli
