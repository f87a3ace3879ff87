#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "cli/verbs.h"
#include "gpu/cache/cache_folder.h"
#include "gpu/cache/disk_cache.h"
#include "gpu/support/byte_size.h"
#include "lab/base/log.h"
#include "lab/base/units.h"

namespace anymps::cli {
namespace {

std::string describe(const gpu::cache::CacheFolder::Usage& usage) {
  return fmt::format("{} in {} file{}", lab::base::human_bytes(usage.bytes), usage.files, usage.files == 1 ? "" : "s");
}

std::uint64_t disk_limit() {
  const gpu::cache::DiskLimit limit = gpu::cache::disk_limit_from_environment();
  if (limit.problem) lab::base::log().warn(*limit.problem);
  return limit.bytes;
}

int info() {
  const auto cache = gpu::cache::CacheFolder::of_this_user();
  if (cache.path().empty()) {
    lab::base::log().error("no cache folder: neither ANYMPS_CACHE, XDG_CACHE_HOME nor a home folder is known");
    return 1;
  }
  if (!cache.exists()) {
    fmt::print("{}  does not exist yet\n", cache.path().string());
  } else if (!cache.is_ours()) {
    fmt::print("{}  was not made by anymps\n", cache.path().string());
  } else {
    fmt::print("{}  {}\n", cache.path().string(), describe(cache.usage()));
    const gpu::cache::DiskCache compiled(cache, disk_limit());
    fmt::print("compiled code  {}, of at most {}\n", describe(compiled.usage()),
               lab::base::human_bytes(compiled.limit()));
  }
  return 0;
}

int clear() {
  const auto cache = gpu::cache::CacheFolder::of_this_user();
  const auto cleared = cache.clear();
  if (cleared.refusal) {
    lab::base::log().error(*cleared.refusal);
    return 1;
  }
  fmt::print("freed {}\n", describe(cleared.freed));
  return 0;
}

int trim(const std::string& size) {
  const auto bytes = size.empty() ? std::optional(disk_limit()) : gpu::support::parse_byte_size(size);
  if (!bytes) {
    lab::base::log().error("--to {} is not a size, such as 500mb", size);
    return options::kUsageError;
  }
  const auto cache = gpu::cache::CacheFolder::of_this_user();
  if (cache.exists() && !cache.is_ours()) {
    lab::base::log().error("{} was not made by anymps", cache.path().string());
    return 1;
  }
  const auto trimmed = gpu::cache::DiskCache(cache, *bytes).trim(*bytes);
  if (!trimmed) {
    lab::base::log().error("another process is trimming the cache; try again");
    return 1;
  }
  fmt::print("freed {}; {} left\n", describe(trimmed->freed), describe(trimmed->kept));
  return 0;
}

}  // namespace

void add_cache(CLI::App& app, options::Action& chosen) {
  CLI::App* verb = app.add_subcommand("cache", "Show, trim or clear what anymps keeps on disk");
  verb->require_subcommand(1);
  verb->footer(
      "The folder is $ANYMPS_CACHE, else $XDG_CACHE_HOME/anymps, else ~/.cache/anymps.\n"
      "Compiled code in it is kept to $ANYMPS_CACHE_LIMIT, else 2 GiB; 0 keeps none on disk.\n\n"
      "Examples:\n"
      "  anymps cache info\n"
      "  anymps cache trim --to 500mb\n");
  verb->add_subcommand("info", "Show where the cache is and how large")->callback([&chosen] {
    chosen = [](const auto&) { return info(); };
  });
  auto size = std::make_shared<std::string>();
  CLI::App* trimming = verb->add_subcommand("trim", "Remove the compiled code that was not used for longest");
  trimming->add_option("--to", *size, "How much may stay, such as 500mb; else the limit")->type_name("SIZE");
  trimming->callback([&chosen, size] { chosen = [size](const auto&) { return trim(*size); }; });
  verb->add_subcommand("clear", "Remove the cache; everything in it can be made again")->callback([&chosen] {
    chosen = [](const auto&) { return clear(); };
  });
}

}  // namespace anymps::cli
