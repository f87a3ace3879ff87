// A folder of pictures into a database of pairs.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "superres/files/store.h"
#include "superres/pictures/degradation.h"

namespace anymps::superres::pictures {

struct PackOptions {
  Degradation degradation;
  int crop = 0;  // side of the pieces that pictures are cut into, at high resolution; 0: pictures are kept whole

  // What a database is made with, and must be added to with.
  nlohmann::json to_json() const;
};

struct PackReport {
  std::uint64_t files = 0;           // that were looked at
  std::uint64_t before = 0;          // of them, those that were there already
  std::uint64_t pairs = 0;           // that were added
  std::vector<std::string> skipped;  // "NAME: WHY"
  bool interrupted = false;
};

// Told how many files of how many are done.
using PackProgress = std::function<void(std::uint64_t done, std::uint64_t all, const std::string& name)>;

// The folder's pictures by name, folders inside it included; files whose names do not end as a picture's do are left
// out. Throws std::runtime_error where the folder cannot be read.
std::vector<std::string> pictures_in(const std::filesystem::path& folder);

// The pictures `names` of the folder; what is in the database already is not done again. Ends early, with all that was
// done kept, when `stop` becomes true.
PackReport pack(const std::filesystem::path& folder, const std::vector<std::string>& names, files::Store& store,
                const PackOptions& options, const std::atomic<bool>& stop, const PackProgress& progress);

}  // namespace anymps::superres::pictures
