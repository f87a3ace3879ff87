#include "gpu/cache/disk_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "gpu/support/byte_size.h"
#include "gpu/support/sha256.h"

namespace anymps::gpu::cache {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kShelves = "compiled";
constexpr std::string_view kLock = "lock";
constexpr std::string_view kDraft = "draft-";
constexpr std::size_t kShelfDigits = 2;
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kHour = 3600 * kSecond;

struct EntryHeader {
  std::array<char, 8> magic = {'a', 'n', 'y', 'm', 'p', 's', '\r', '\n'};
  std::uint32_t format = 1;
  std::uint32_t reserved = 0;
  std::uint64_t length = 0;
  support::Digest key{};
  support::Digest checksum{};  // over all of the header before it, and the payload
};
static_assert(sizeof(EntryHeader) == 88 && std::is_trivially_copyable_v<EntryHeader>);

EntryHeader header_for(const CacheKey& key, std::span<const std::byte> payload) {
  EntryHeader header;
  header.length = payload.size();
  header.key = key.digest();
  const auto bytes = std::as_bytes(std::span(&header, 1));
  header.checksum = support::Sha256().update(bytes.first(offsetof(EntryHeader, checksum))).update(payload).finish();
  return header;
}

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int get() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }
  // False where bytes did not reach the disk: some file systems say so only now.
  bool close() { return ::close(std::exchange(descriptor_, -1)) == 0; }

 private:
  int descriptor_;
};

enum class Read { kWhole, kCutShort, kFailed };

Read read_all(int file, std::span<std::byte> into) {
  while (!into.empty()) {
    const ssize_t got = ::read(file, into.data(), into.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Read::kFailed;
    if (got == 0) return Read::kCutShort;
    into = into.subspan(static_cast<std::size_t>(got));
  }
  return Read::kWhole;
}

bool write_all(DiskCache::Write write, int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = write(file, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote == 0) errno = ENOSPC;
    if (wrote <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(wrote));
  }
  return true;
}

// Times are nanoseconds since 1970.
std::int64_t now() {
  timespec time;
  ::clock_gettime(CLOCK_REALTIME, &time);
  return time.tv_sec * kSecond + time.tv_nsec;
}

std::int64_t last_used(const struct stat& facts) {
#ifdef __APPLE__
  return facts.st_mtimespec.tv_sec * kSecond + facts.st_mtimespec.tv_nsec;
#else
  return facts.st_mtim.tv_sec * kSecond + facts.st_mtim.tv_nsec;
#endif
}

// Not the system's own time stamp, which moves in steps of some milliseconds: of entries that were written in one step,
// the newest could be the first to go.
void set_used(int file) {
  const std::int64_t time = now();
  const timespec stamp = {time / kSecond, time % kSecond};
  const timespec times[] = {stamp, stamp};
  ::futimens(file, times);
}

// Ordinary uses of an entry cost no write to the disk.
void renew(int file, const struct stat& facts) {
  const std::int64_t age = now() - last_used(facts);
  if (age > kHour || age < -kHour) set_used(file);
}

bool is_entry_name(std::string_view name) {
  return name.size() == 2 * sizeof(support::Digest) - kShelfDigits &&
         name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

struct Entry {
  std::int64_t used;
  std::uint64_t bytes;
  std::string path;
};

struct Contents {
  std::vector<Entry> entries;
  std::vector<std::string> abandoned;  // drafts whose writers are gone
  CacheFolder::Usage usage;
};

Contents contents_of(const fs::path& shelves) {
  Contents contents;
  const std::int64_t draft_limit = now() - kHour;
  std::error_code error;
  for (fs::directory_iterator shelf(shelves, error), end; !error && shelf != end; shelf.increment(error)) {
    std::error_code gone;
    for (fs::directory_iterator file(shelf->path(), gone); !gone && file != end; file.increment(gone)) {
      std::string path = file->path().string();
      struct stat facts;
      if (::lstat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) continue;
      const std::string name = file->path().filename().string();
      if (is_entry_name(name)) {
        contents.usage.files += 1;
        contents.usage.bytes += static_cast<std::uint64_t>(facts.st_size);
        contents.entries.push_back({last_used(facts), static_cast<std::uint64_t>(facts.st_size), std::move(path)});
      } else if (name.starts_with(kDraft) && last_used(facts) < draft_limit) {
        contents.abandoned.push_back(std::move(path));
      }
    }
  }
  return contents;
}

// Not mkstemp(3), whose files nobody else may read: a cache that root filled serves every user of an image.
std::string draft_name() {
  static std::atomic<unsigned> count{0};
  return std::string(kDraft) + std::to_string(::getpid()) + "-" + std::to_string(now()) + "-" + std::to_string(++count);
}

enum class Lock { kHeld, kBusy, kImpossible };

// A record lock and not flock(2), which a child forked meanwhile would go on holding.
Lock lock(const File& file) {
  if (!file) return Lock::kImpossible;
  struct flock all = {};
  all.l_type = F_WRLCK;
  all.l_whence = SEEK_SET;
  if (::fcntl(file.get(), F_SETLK, &all) == 0) return Lock::kHeld;
  return errno == EACCES || errno == EAGAIN ? Lock::kBusy : Lock::kImpossible;
}

std::string problem_with(const fs::path& path, int error) {
  return "cannot write " + path.string() + ": " + std::generic_category().message(error);
}

}  // namespace

ssize_t DiskCache::system_write(int file, const void* bytes, std::size_t count) { return ::write(file, bytes, count); }

DiskCache::DiskCache(CacheFolder folder, std::uint64_t limit, Write write)
    : folder_(std::move(folder)), limit_(limit), write_(write) {}

fs::path DiskCache::path_of(const CacheKey& key) const {
  const std::string name = key.hex();
  return folder_.path() / kShelves / name.substr(0, kShelfDigits) / name.substr(kShelfDigits);
}

std::optional<support::Blob> DiskCache::find(const CacheKey& key) const {
  if (off()) return std::nullopt;
  const fs::path path = path_of(key);
  // Neither a link nor a pipe that somebody put there leads astray.
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat facts;
  if (!file || ::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return std::nullopt;
  if (facts.st_uid != ::geteuid() && facts.st_uid != 0) return std::nullopt;

  const auto damaged = [&]() -> std::optional<support::Blob> {
    if (folder_.is_ours()) ::unlink(path.c_str());
    return std::nullopt;
  };
  const auto size = static_cast<std::uint64_t>(facts.st_size);
  if (size < sizeof(EntryHeader) || size > limit_) return damaged();
  EntryHeader header;
  const std::size_t length = size - sizeof header;
  auto payload = std::make_unique_for_overwrite<std::byte[]>(length);
  for (const std::span<std::byte> part :
       {std::as_writable_bytes(std::span(&header, 1)), std::span(payload.get(), length)}) {
    const Read result = read_all(file.get(), part);
    if (result == Read::kFailed) return std::nullopt;
    if (result == Read::kCutShort) return damaged();
  }
  const EntryHeader expected = header_for(key, {payload.get(), length});
  if (std::memcmp(&header, &expected, sizeof header) != 0) return damaged();
  renew(file.get(), facts);
  return support::Blob(std::move(payload), length);
}

std::optional<std::string> DiskCache::make_shelf(const fs::path& shelf) const {
  if (!folder_.make()) {
    if (folder_.exists() && !folder_.is_ours()) return folder_.path().string() + " was not made by anymps";
    return "cannot make " + folder_.path().string();
  }
  for (const fs::path& folder : {shelf.parent_path(), shelf}) {
    // A folder that went away meanwhile is for the next attempt.
    if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST && errno != ENOENT) return problem_with(folder, errno);
  }
  return std::nullopt;
}

std::optional<std::string> DiskCache::put(const CacheKey& key, std::span<const std::byte> bytes) {
  const std::uint64_t size = sizeof(EntryHeader) + bytes.size();
  if (off() || size > limit_) return std::nullopt;
  const EntryHeader header = header_for(key, bytes);
  const fs::path path = path_of(key);
  const fs::path shelf = path.parent_path();
  // The folder may be cleared at any moment, between two steps of ours too.
  constexpr int kAttempts = 4;
  int error = ENOENT;
  for (int attempt = 0; attempt < kAttempts && error == ENOENT; ++attempt) {
    const std::string draft = (shelf / draft_name()).string();
    File file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (!file) {
      error = errno;
      if (error != ENOENT) break;
      if (auto problem = make_shelf(shelf)) return problem;
      continue;
    }
    bool written =
        write_all(write_, file.get(), std::as_bytes(std::span(&header, 1))) && write_all(write_, file.get(), bytes);
    if (written) set_used(file.get());
    written = written && file.close();
    if (written && ::rename(draft.c_str(), path.c_str()) == 0) {
      keep_limit(size);
      return std::nullopt;
    }
    error = errno;
    ::unlink(draft.c_str());
  }
  return problem_with(shelf, error);
}

void DiskCache::keep_limit(std::uint64_t written) {
  const auto share = static_cast<std::int64_t>(limit_ / 16);
  const auto left = static_cast<std::int64_t>(written);
  if (allowance_.fetch_sub(left, std::memory_order_relaxed) >= left) return;
  // Other threads go on meanwhile instead of looking as well.
  allowance_.store(share, std::memory_order_relaxed);
  // Room for a while, or every entry from here on would be removed for the next.
  std::optional<Trimmed> trimmed = look(limit_, limit_ - limit_ / 8);
  const std::int64_t room = trimmed ? static_cast<std::int64_t>(limit_ - std::min(limit_, trimmed->kept.bytes)) : 0;
  allowance_.store(std::min(share, room), std::memory_order_relaxed);
}

std::optional<DiskCache::Trimmed> DiskCache::trim(std::uint64_t bytes) const { return look(bytes, bytes); }

std::optional<DiskCache::Trimmed> DiskCache::look(std::uint64_t above, std::uint64_t down_to) const {
  if (!folder_.is_ours()) return Trimmed{};
  const fs::path shelves = folder_.path() / kShelves;
  const File lock_file(::open((shelves / kLock).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (lock(lock_file) == Lock::kBusy) return std::nullopt;
  Contents contents = contents_of(shelves);
  for (const std::string& draft : contents.abandoned) ::unlink(draft.c_str());
  Trimmed trimmed{{}, contents.usage};
  if (trimmed.kept.bytes <= above) return trimmed;
  std::sort(contents.entries.begin(), contents.entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.used, std::string_view(a.path)) < std::pair(b.used, std::string_view(b.path));
  });
  for (const Entry& entry : contents.entries) {
    if (trimmed.kept.bytes <= down_to) break;
    if (::unlink(entry.path.c_str()) != 0 && errno != ENOENT) continue;
    trimmed.freed.files += 1;
    trimmed.freed.bytes += entry.bytes;
    trimmed.kept.files -= 1;
    trimmed.kept.bytes -= entry.bytes;
  }
  return trimmed;
}

CacheFolder::Usage DiskCache::usage() const { return contents_of(folder_.path() / kShelves).usage; }

DiskLimit disk_limit_from_environment() {
  const char* text = std::getenv("ANYMPS_CACHE_LIMIT");
  if (text == nullptr || *text == '\0') return {};
  if (const auto bytes = support::parse_byte_size(text)) return {*bytes, std::nullopt};
  return {kDefaultDiskLimit, "ANYMPS_CACHE_LIMIT=" + std::string(text) + " is not a size, such as 500mb"};
}

}  // namespace anymps::gpu::cache
