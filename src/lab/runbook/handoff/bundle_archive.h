// libarchive in the words of this house: a tar that is written, and one that is read to its very end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

struct archive;

namespace anymps::lab::runbook::handoff {

struct TarEntry {
  std::string path;
  std::uint64_t bytes = 0;
  bool executable = false;
  std::int64_t modified = 0;  // seconds since 1970
};

enum class Compression { kNone, kZstd };

// Owner and mode are the same for all entries, so that the same contents make the same archive. All throw
// std::runtime_error.
class TarWriter {
 public:
  TarWriter(const std::filesystem::path& path, Compression compression);
  ~TarWriter();
  TarWriter(const TarWriter&) = delete;
  TarWriter& operator=(const TarWriter&) = delete;

  // Then exactly entry.bytes of contents.
  void begin(const TarEntry& entry);
  void put(std::span<const std::byte> bytes);
  void close();

 private:
  [[noreturn]] void fail() const;

  std::filesystem::path path_;
  archive* archive_;
};

// Throws BundleError on anything but regular files, one after the other, and the archive's regular end.
class TarReader {
 public:
  explicit TarReader(const std::filesystem::path& path);
  explicit TarReader(std::span<const std::byte> bytes);
  ~TarReader();
  TarReader(const TarReader&) = delete;
  TarReader& operator=(const TarReader&) = delete;

  // Nothing at the end, after which the rest of the file was read too: what is cut off or appended is noticed.
  std::optional<TarEntry> next();
  // The next contents of the entry; 0 at its end.
  std::size_t read(std::span<std::byte> into);

 private:
  struct Streams;
  std::unique_ptr<Streams> streams_;
};

}  // namespace anymps::lab::runbook::handoff
