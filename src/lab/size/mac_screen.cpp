#include "lab/size/mac_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "lab/base/text_wrap.h"

namespace anymps::lab::size {
namespace {

constexpr double kBytesPerGiB = 1024.0 * 1024 * 1024;

std::string starred(std::string text, const gpu::history::Figure& figure) {
  return text + (figure.computed() ? "*" : " ");
}

std::string cores_of(const gpu::history::MacProfile& mac) {
  const std::string most = fmt::format("{}", mac.cores.value);
  const bool one_version = mac.fewest_cores.value == mac.cores.value;
  return starred(one_version ? most : fmt::format("{} or {}", mac.fewest_cores.value, most), mac.cores);
}

struct MacCells {
  std::string name, device, memory, cores, bandwidth, working_set, buffer, macos;
};

// In a narrow terminal without the columns that no limit comes from.
std::string mac_line(const MacCells& cells, bool narrow) {
  if (narrow) {
    return fmt::format("{:<13}{:<15}{:>7}{:>13}{:>12}\n", cells.name, cells.device, cells.memory, cells.working_set,
                       cells.buffer);
  }
  return fmt::format("{:<15}{:<16}{:>7}{:>10}{:>7}{:>13}{:>12}{:>9}\n", cells.name, cells.device, cells.memory,
                     cells.cores, cells.bandwidth, cells.working_set, cells.buffer, cells.macos);
}

MacCells cells_of(const gpu::history::MacProfile& mac, gpu::history::MacosVersion macos) {
  const gpu::history::Figure& working_set = mac.working_set(macos);
  const auto bytes = static_cast<std::size_t>(working_set.value);
  return {.name = std::string(mac.name),
          .device = std::string(mac.device),
          .memory = fmt::format("{:.0f} GB", mac.memory.value / kBytesPerGiB),
          .cores = cores_of(mac),
          .bandwidth = starred(fmt::format("{:.0f}", mac.bandwidth.value / 1e9), mac.bandwidth),
          .working_set = starred(fmt::format("{:.2f}", working_set.value / kBytesPerGiB), working_set),
          .buffer = fmt::format("{:.2f}*", static_cast<double>(gpu::history::max_buffer_for(bytes)) / kBytesPerGiB),
          .macos = starred(fmt::format("{}-{}", mac.first_macos.value, mac.newest_macos.value), mac.first_macos)};
}

nlohmann::json figure_json(const gpu::history::Figure& figure) {
  return {{"value", figure.value}, {"source", figure.source}};
}

}  // namespace

std::string mac_screen(gpu::history::MacosVersion macos, const base::Terminal& terminal) {
  const bool narrow = terminal.width < 80;  // a pipe counts as 80 columns, and gets all
  const auto head =
      mac_line({"name", "chip", "memory", "cores ", "GB/s ", "working set ", "one buffer ", "macOS "}, narrow);
  std::string text = terminal.paint(base::kBold, head);
  for (const gpu::history::MacProfile& mac : gpu::history::all_macs()) text += mac_line(cells_of(mac, macos), narrow);
  const std::size_t width = std::max<std::size_t>(terminal.width, narrow ? 40 : 90);
  text += base::wrapped(fmt::format("Working set and largest buffer in GiB under macOS {}.{}", macos.text(),
                                    narrow ? "" : " macOS: what it is known to run."),
                        width, "");
  return text + base::wrapped("* computed by a rule, because no source gives it: anymps macs --sources, docs/macs.md",
                              width, "  ");
}

std::string mac_source_screen() {
  std::string text;
  for (const gpu::history::MacSource& source : gpu::history::mac_sources()) {
    text += fmt::format("{:<17} {:<12} {}\n{:<30} {}\n", source.key, source.kind, source.says, "", source.where);
  }
  return text;
}

nlohmann::json macs_to_json(gpu::history::MacosVersion macos) {
  auto macs = nlohmann::json::array();
  for (const gpu::history::MacProfile& mac : gpu::history::all_macs()) {
    const gpu::history::Figure& working_set = mac.working_set(macos);
    macs.push_back({{"name", mac.name},
                    {"device", mac.device},
                    {"memory_bytes", figure_json(mac.memory)},
                    {"gpu_cores", figure_json(mac.cores)},
                    {"fewest_gpu_cores", figure_json(mac.fewest_cores)},
                    {"bytes_per_second", figure_json(mac.bandwidth)},
                    {"peak_flops", figure_json(mac.peak_flops)},
                    {"first_macos", figure_json(mac.first_macos)},
                    {"newest_macos", figure_json(mac.newest_macos)},
                    {"working_set_bytes", figure_json(working_set)},
                    {"max_buffer_bytes",
                     {{"value", gpu::history::max_buffer_for(static_cast<std::size_t>(working_set.value))},
                      {"source", "computed:three quarters of the working set"}}}});
  }
  auto sources = nlohmann::json::object();
  for (const gpu::history::MacSource& source : gpu::history::mac_sources()) {
    sources[source.key] = {{"kind", source.kind}, {"says", source.says}, {"where", source.where}};
  }
  return {{"version", 1}, {"macos", macos.text()}, {"macs", std::move(macs)}, {"sources", std::move(sources)}};
}

}  // namespace anymps::lab::size
