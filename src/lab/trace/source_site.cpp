#include "lab/trace/source_site.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "gpu/support/whole_number.h"

namespace anymps::lab::trace {
namespace fs = std::filesystem;
namespace {

// A source file is smaller; what is not one (a device, a data file) must not be read whole.
constexpr std::uintmax_t kLargestShownFile = 8U << 20;

std::vector<std::string> file_lines(const std::string& path) {
  std::vector<std::string> lines;
  std::error_code error;
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > kLargestShownFile) return lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    // Texts end up on a terminal, where a control character would move the cursor.
    for (char& c : line) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace

SourceSite SourceSite::parse(std::string_view written) {
  const std::size_t colon = written.rfind(':');
  if (colon == std::string_view::npos) return {std::string(written), 0};
  const auto line = gpu::support::whole_number(written.substr(colon + 1));
  if (!line || *line == 0 || *line > 1'000'000'000) return {std::string(written), 0};
  return {std::string(written.substr(0, colon)), static_cast<unsigned>(*line)};
}

bool SourceSite::in_notebook() const { return file.find(".ipynb[cell ") != std::string::npos; }

std::string SourceSite::short_file() const {
  std::error_code error;
  const std::string here = fs::current_path(error).string() + "/";
  return !error && file.starts_with(here) ? file.substr(here.size()) : file;
}

std::string SourceSite::text() const {
  if (file.empty()) return "(no Python line)";
  return known() ? short_file() + ":" + std::to_string(line) : short_file();
}

std::vector<SourceLine> SourceLines::at(const SourceSite& site, unsigned around) {
  if (!site.known() || site.in_notebook()) return {};
  const auto [entry, fresh] = files_.try_emplace(site.file);
  if (fresh) entry->second = file_lines(site.file);
  const std::vector<std::string>& lines = entry->second;
  if (site.line > lines.size()) return {};
  const auto first = site.line > around ? site.line - around : 1;
  const auto last = std::min<std::size_t>(lines.size(), std::size_t{site.line} + around);
  std::vector<SourceLine> excerpt;
  for (auto number = first; number <= last; ++number) excerpt.push_back({number, lines[number - 1]});
  return excerpt;
}

}  // namespace anymps::lab::trace
