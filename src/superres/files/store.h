// The database of picture pairs: an LMDB file whose map is a terabyte and whose size on disk is what it holds. Whatever
// belongs to one source file goes in with one transaction, so that a crash leaves all of it or nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "superres/files/mapped_file.h"
#include "superres/files/record.h"

struct MDB_env;

namespace anymps::superres::files {

// One line that names the database and what is wrong with it.
struct StoreError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What became of a source file.
struct Source {
  std::string name;  // relative to the folder that was packed
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::string error;        // why it was skipped
  std::uint64_t bytes = 0;  // of the file
};

class Store {
 public:
  // Opens a database that is there. Throws StoreError where there is none, or one of another version or program.
  static Store open(const std::filesystem::path& path);
  // The same for adding to it; made where there is none. `settings` must be those that it was made with.
  static Store append_to(const std::filesystem::path& path, const nlohmann::json& settings);

  const nlohmann::json& settings() const { return settings_; }
  std::uint64_t size() const;
  // Throws StoreError for a record that is damaged.
  Pair at(std::uint64_t index) const;

  std::optional<Source> source(std::string_view name) const;
  std::vector<Source> sources() const;
  // `bytes` is the file's length, by which another one of the same name is told from it.
  void add(const std::string& name, std::uint64_t bytes, const std::vector<Pair>& pairs);
  void skip(const std::string& name, const std::string& error);

  std::uint64_t map_bytes() const;
  std::uint64_t disk_bytes() const;

 private:
  struct Close {
    void operator()(MDB_env* environment) const;
  };
  Store(const std::filesystem::path& path, bool writable);

  std::filesystem::path path_;
  std::unique_ptr<MDB_env, Close> environment_;
  std::unique_ptr<MappedFile> mapped_;
  unsigned database_ = 0;
  nlohmann::json settings_;
};

}  // namespace anymps::superres::files
