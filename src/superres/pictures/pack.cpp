#include "superres/pictures/pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <stdexcept>

#include "superres/files/first_line.h"
#include "superres/files/image_file.h"
#include "superres/files/text_hash.h"
#include "superres/pictures/pixels.h"

namespace anymps::superres::pictures {
namespace {

namespace fs = std::filesystem;

bool is_picture(const fs::path& path) {
  std::string ending = path.extension().string();
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr std::array kEndings = {".png", ".jpg", ".jpeg", ".webp"};
  return std::ranges::find(kEndings, ending) != kEndings.end();
}

// The pieces at high resolution, whose sides are multiples of the scale; what is left over at the right and below is
// covered by pieces that overlap their neighbours.
std::vector<files::Image> pieces_of(const files::Image& image, int crop, int scale) {
  const int width = image.width / scale * scale;
  const int height = image.height / scale * scale;
  if (width == 0 || height == 0) {
    throw files::ImageError(fmt::format("{} x {} pixels are too few for scale {}", image.width, image.height, scale));
  }
  if (crop == 0) return {cropped(image, 0, 0, width, height)};
  const int side_x = std::min(crop / scale * scale, width);
  const int side_y = std::min(crop / scale * scale, height);
  std::vector<files::Image> pieces;
  const auto places = [scale](int whole, int side) {
    std::vector<int> all;
    for (int at = 0; at + side < whole; at += side) all.push_back(at);
    all.push_back((whole - side) / scale * scale);
    return all;
  };
  for (const int y : places(height, side_y)) {
    for (const int x : places(width, side_x)) pieces.push_back(cropped(image, x, y, side_x, side_y));
  }
  return pieces;
}

}  // namespace

nlohmann::json PackOptions::to_json() const {
  nlohmann::json json = degradation.to_json();
  json["crop"] = crop;
  return json;
}

std::vector<std::string> pictures_in(const fs::path& folder) {
  std::error_code error;
  std::vector<std::string> names;
  fs::recursive_directory_iterator entries(folder, fs::directory_options::skip_permission_denied, error);
  if (error) throw std::runtime_error(fmt::format("{}: {}", folder.string(), error.message()));
  for (; entries != fs::recursive_directory_iterator(); entries.increment(error)) {
    std::error_code unknown;
    if (entries->is_regular_file(unknown) && is_picture(entries->path())) {
      names.push_back(entries->path().lexically_relative(folder).generic_string());
    }
  }
  // An entry that cannot be gone on from ends the loop.
  if (error) throw std::runtime_error(fmt::format("{}: {}", folder.string(), error.message()));
  std::ranges::sort(names);
  return names;
}

PackReport pack(const fs::path& folder, const std::vector<std::string>& names, files::Store& store,
                const PackOptions& options, const std::atomic<bool>& stop, const PackProgress& progress) {
  PackReport report;
  for (const std::string& name : names) {
    if (stop) {
      report.interrupted = true;
      break;
    }
    if (progress) progress(report.files, names.size(), name);
    ++report.files;
    std::error_code unknown;
    const std::uint64_t bytes = fs::file_size(folder / name, unknown);
    // What was skipped is tried again: it may have been mended.
    if (const std::optional<files::Source> packed = store.source(name); packed && packed->error.empty()) {
      if (packed->bytes == bytes) {
        ++report.before;
      } else {
        report.skipped.push_back(name + ": another file of that name is packed already");
      }
      continue;
    }
    std::vector<files::Pair> pairs;
    try {
      const std::uint64_t number = files::text_hash(name);
      for (files::Image& piece :
           pieces_of(rgb_of(files::read_image(folder / name)), options.crop, options.degradation.scale)) {
        files::Image low = degraded(piece, options.degradation, number + pairs.size());
        pairs.push_back({std::move(piece), std::move(low)});
      }
    } catch (const std::exception& error) {
      const std::string why = files::first_line(error.what());
      store.skip(name, why);
      report.skipped.push_back(fmt::format("{}: {}", name, why));
      continue;
    }
    store.add(name, bytes, pairs);
    report.pairs += pairs.size();
  }
  return report;
}

}  // namespace anymps::superres::pictures
