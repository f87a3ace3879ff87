#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "cli/verbs.h"
#include "gpu/byte_size.h"
#include "gpu/cache_folder.h"
#include "gpu/disk_cache.h"
#include "lab/log.h"
#include "lab/summary_screen.h"

namespace anymps::cli {
namespace {

std::string describe(const gpu::CacheFolder::Usage& usage) {
  return fmt::format("{} in {} file{}", lab::human_bytes(usage.bytes), usage.files, usage.files == 1 ? "" : "s");
}

std::uint64_t disk_limit() {
  const gpu::DiskLimit limit = gpu::disk_limit_from_environment();
  if (limit.problem) lab::log().warn(*limit.problem);
  return limit.bytes;
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
    const gpu::DiskCache compiled(cache, disk_limit());
    fmt::print("compiled code  {}, of at most {}\n", describe(compiled.usage()), lab::human_bytes(compiled.limit()));
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

int trim(const std::string& size) {
  const auto bytes = size.empty() ? std::optional(disk_limit()) : gpu::parse_byte_size(size);
  if (!bytes) {
    lab::log().error("--to {} is not a size, such as 500mb", size);
    return kUsageError;
  }
  const auto cache = gpu::CacheFolder::of_this_user();
  if (cache.exists() && !cache.is_ours()) {
    lab::log().error("{} was not made by anymps", cache.path().string());
    return 1;
  }
  const auto trimmed = gpu::DiskCache(cache, *bytes).trim(*bytes);
  if (!trimmed) {
    lab::log().error("another process is trimming the cache; try again");
    return 1;
  }
  fmt::print("freed {}; {} left\n", describe(trimmed->freed), describe(trimmed->kept));
  return 0;
}

}  // namespace

void add_cache(CLI::App& app, Action& chosen) {
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
