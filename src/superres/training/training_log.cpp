#include "superres/training/training_log.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <span>
#include <sstream>
#include <stdexcept>

#include "gpu/support/whole_file.h"
#include "lab/base/json_text.h"
#include "lab/html/chart.h"
#include "lab/html/escape.h"
#include "lab/html/page.h"

namespace anymps::superres::training {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A run that is called again when it is done measures its last step again.
void add_point(lab::html::ChartSeries& series, const json& line, const char* field) {
  if (!line.contains(field) || !line[field].is_number()) return;
  const double step = line.value("step", 0.0);
  if (!series.points.empty() && series.points.back().x == step) series.points.pop_back();
  series.points.push_back({step, line[field].get<double>()});
}

// What there is before there are two points to draw a line through.
std::string first_values(const lab::html::Axis& axis, std::span<const lab::html::ChartSeries> all) {
  std::string cards;
  for (const lab::html::ChartSeries& series : all) {
    for (const lab::html::ChartPoint& point : series.points) {
      cards += lab::html::card(fmt::format("{:.4g}", point.y), fmt::format("{} at step {:.0f}", series.name, point.x));
    }
  }
  const std::string text = cards.empty() ? "<p class=\"dim\">Not measured yet.</p>\n"
                                         : "<div class=\"cards\">\n" + cards +
                                               "</div>\n<p class=\"dim\">Measured once so far: a curve begins with the "
                                               "second time.</p>\n";
  return "<h2>" + lab::html::escaped(axis.title) + "</h2>\n" + text;
}

std::string chart_of(const std::vector<json>& lines, const char* field, const char* beside, lab::html::Axis axis) {
  lab::html::ChartSeries series{field, 0, {}, false};
  lab::html::ChartSeries other{beside != nullptr ? beside : "", 1, {}, false};
  for (const json& line : lines) {
    add_point(series, line, field);
    if (beside != nullptr) add_point(other, line, beside);
  }
  if (series.points.size() < 2) return first_values(axis, std::array{series, other});
  lab::html::LineChart chart;
  chart.title = axis.title;
  chart.x = {"step", lab::html::Unit::kNumber, lab::html::AxisKind::kLinear, true, {}, {}, true};
  chart.y = std::move(axis);
  chart.series.push_back(std::move(series));
  if (beside != nullptr) chart.series.push_back(std::move(other));
  return lab::html::draw(chart);
}

// What cannot be read is not taken for nothing: the lines would be lost when the log is written anew.
std::string text_before(const fs::path& path) {
  if (!fs::exists(path)) return {};
  errno = 0;
  std::optional<std::string> text = gpu::support::read_whole(path);
  if (!text) throw std::runtime_error(fmt::format("{}: it cannot be read: {}", path.string(), std::strerror(errno)));
  return *std::move(text);
}

}  // namespace

TrainingLog::TrainingLog(const fs::path& folder, std::uint64_t step) : folder_(folder) {
  std::string kept;
  std::istringstream before(text_before(folder / "log.jsonl"));
  for (std::string text; std::getline(before, text);) {
    json line = lab::base::json_of(text);
    if (!line.is_object() || line.value("step", std::uint64_t{0}) > step) continue;
    kept += text + "\n";
    lines_.push_back(std::move(line));
  }
  gpu::support::write_whole(folder / "log.jsonl", kept);
}

void TrainingLog::add(const json& line) {
  errno = 0;
  std::ofstream file(folder_ / "log.jsonl", std::ios::app);
  file << lab::base::json_line(line) << '\n';
  // A disk behind a network may tell at the end.
  file.close();
  if (!file) {
    const int why = errno;
    throw std::runtime_error(fmt::format("{}: it cannot be written: {}", (folder_ / "log.jsonl").string(),
                                         std::strerror(why != 0 ? why : EIO)));
  }
  lines_.push_back(line);
}

void TrainingLog::write_page(const std::string& title) const {
  const std::string head =
      lab::html::page_head(title, lab::html::chart_style(), "default-src 'none'; style-src 'unsafe-inline'");
  gpu::support::write_whole(folder_ / "curves.html",
                            fmt::format("{}<h1>{}</h1>\n{}{}</body></html>\n", head, lab::html::escaped(title),
                                        chart_of(lines_, "psnr", "bicubic_psnr", {"PSNR on Y, dB"}),
                                        chart_of(lines_, "loss", nullptr, {"loss"})));
}

}  // namespace anymps::superres::training
