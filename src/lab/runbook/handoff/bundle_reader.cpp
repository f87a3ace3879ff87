#include "lab/runbook/handoff/bundle_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <functional>
#include <utility>

#include "gpu/support/sha256.h"
#include "lab/base/json_text.h"
#include "lab/base/units.h"
#include "lab/runbook/handoff/bundle_archive.h"

namespace anymps::lab::runbook::handoff {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::uint64_t kMostText = 64 << 20;

bool describes(std::string_view path) { return !path.starts_with(kProgramFolder) && !path.starts_with(kDataFolder); }

// What is done with contents: told of a file, then its bytes, then that it was what the manifest says.
struct Taker {
  std::function<void(const BundleFile&)> begin;
  std::function<void(std::span<const std::byte>)> take;
  std::function<void()> end;
};

// Reads the contents of the entry that the reader stands at, `bytes` of them, and returns their digest.
std::string read_contents(TarReader& tar, std::uint64_t bytes,
                          const std::function<void(std::span<const std::byte>)>& take) {
  gpu::support::Sha256 hash;
  std::vector<std::byte> block(64 << 10);
  std::uint64_t left = bytes;
  while (const std::size_t got = tar.read(block)) {
    if (got > left) throw BundleError("an entry is longer than it says");
    left -= got;
    const std::span<const std::byte> piece(block.data(), got);
    hash.update(piece);
    if (take) take(piece);
  }
  if (left != 0) throw BundleError("an entry is shorter than it says");
  return gpu::support::hex_of(hash.finish());
}

std::string read_manifest(TarReader& tar, Bundle& bundle, const BundleLimits& limits) {
  const auto first = tar.next();
  if (!first || first->path != kManifestName) throw BundleError("it does not begin with a manifest");
  if (first->bytes > limits.manifest_bytes) throw BundleError("its manifest is too large");
  std::string& text = bundle.texts[std::string(kManifestName)];
  std::string digest = read_contents(tar, first->bytes, [&](std::span<const std::byte> bytes) {
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  });
  bundle.manifest = manifest_from(base::json_of(text), limits);
  return digest;
}

Bundle read_entries(TarReader& tar, const BundleLimits& limits, const Taker& taker = {}) {
  Bundle bundle;
  bundle.sha256 = read_manifest(tar, bundle, limits);
  std::map<std::string, const BundleFile*> expected;
  for (const BundleFile& file : bundle.manifest.files) expected[file.path] = &file;
  std::uint64_t text_left = kMostText;
  while (const auto entry = tar.next()) {
    const auto found = expected.find(entry->path);
    if (found == expected.end()) {
      throw BundleError(fmt::format("it has {}, which its manifest does not list, or twice", entry->path));
    }
    const BundleFile& file = *found->second;
    if (entry->bytes != file.bytes) throw BundleError(fmt::format("{} is not as long as its manifest says", file.path));
    if (entry->executable != file.executable) {
      throw BundleError(fmt::format("{} is not executable as its manifest says", file.path));
    }
    if (taker.begin) taker.begin(file);
    std::string* text = nullptr;
    if (describes(file.path) && file.bytes <= text_left) {
      text_left -= file.bytes;
      text = &bundle.texts[file.path];
    }
    const std::string digest = read_contents(tar, file.bytes, [&](std::span<const std::byte> bytes) {
      if (text != nullptr) text->append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      if (taker.take) taker.take(bytes);
    });
    if (digest != file.sha256) throw BundleError(fmt::format("{} was changed: its digest is another", file.path));
    if (taker.end) taker.end();
    expected.erase(found);
  }
  if (!expected.empty()) {
    throw BundleError(fmt::format("{} of its files are missing, such as {}", expected.size(), expected.begin()->first));
  }
  return bundle;
}

// With the name of the file, as a line of its own needs it.
template <typename Work>
auto naming(const fs::path& path, Work work) {
  try {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) throw BundleError("there is no such file");
    return work();
  } catch (const BundleError& error) {
    throw BundleError(fmt::format("the bundle {} cannot be used: {}", path.string(), error.what()));
  }
}

std::uint64_t bundle_bytes(const Bundle& bundle) {
  std::uint64_t total = 0;
  for (const BundleFile& file : bundle.manifest.files) total += file.bytes;
  return total;
}

// For its contents. It may have been exchanged since it was read; then its limits are those of what was read.
void read_again(const fs::path& path, const Bundle& read, const Taker& taker) {
  naming(path, [&] {
    TarReader tar(path);
    if (read_entries(tar, {read.manifest.files.size(), bundle_bytes(read)}, taker).sha256 != read.sha256) {
      throw BundleError("it was exchanged while it was read");
    }
  });
}

[[noreturn]] void cannot_write(const fs::path& path) {
  throw std::runtime_error(fmt::format("{} cannot be written: {}", path.string(), std::strerror(errno)));
}

// The folder beside the target in which the files are gathered.
class Gathering {
 public:
  explicit Gathering(const fs::path& target) : target_(fs::absolute(target).lexically_normal()) {
    if (!target_.has_filename()) target_ = target_.parent_path();
    std::error_code error;
    if (fs::exists(fs::symlink_status(target_, error)) &&
        !(fs::is_directory(fs::symlink_status(target_, error)) && fs::is_empty(target_, error))) {
      throw std::runtime_error(target.string() + " exists and is no empty folder; name a new one");
    }
    fs::create_directories(target_.parent_path(), error);
    std::string pattern = (target_.parent_path() / ("." + target_.filename().string() + ".XXXXXX")).string();
    if (::mkdtemp(pattern.data()) == nullptr) cannot_write(target);
    folder_ = pattern;
  }
  ~Gathering() {
    if (file_ >= 0) ::close(file_);
    std::error_code ignored;
    if (!folder_.empty()) fs::remove_all(folder_, ignored);
  }
  Gathering(const Gathering&) = delete;
  Gathering& operator=(const Gathering&) = delete;

  void begin(const std::string& path, bool executable) {
    current_ = folder_ / path;
    fs::create_directories(current_.parent_path());
    // New, or not at all: on a file system that takes two names for one, the second is refused here.
    file_ = ::open(current_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, executable ? 0755 : 0644);
    if (file_ < 0) cannot_write(current_);
  }
  void put(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t put = ::write(file_, bytes.data(), bytes.size());
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) cannot_write(current_);
      bytes = bytes.subspan(static_cast<std::size_t>(put));
    }
  }
  void end() {
    if (::close(std::exchange(file_, -1)) != 0) cannot_write(current_);
  }
  void take_place() {
    fs::permissions(folder_, fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec |
                                 fs::perms::others_read | fs::perms::others_exec);
    // An empty folder gives way.
    if (::rename(folder_.c_str(), target_.c_str()) != 0) cannot_write(target_);
    folder_.clear();
  }
  const fs::path& folder() const { return folder_; }

 private:
  fs::path target_;
  fs::path folder_;
  fs::path current_;
  int file_ = -1;
};

}  // namespace

json Bundle::text_as_json(const std::string& path) const {
  const auto found = texts.find(path);
  if (found == texts.end()) return {};
  json value = base::json_of(found->second);
  return value.is_discarded() ? json() : value;
}

Bundle read_bundle(const fs::path& path, const BundleLimits& limits) {
  return naming(path, [&] {
    TarReader tar(path);
    return read_entries(tar, limits);
  });
}

Bundle read_bundle(std::span<const std::byte> bytes, const BundleLimits& limits) {
  TarReader tar(bytes);
  return read_entries(tar, limits);
}

void extract_bundle(const fs::path& path, const Bundle& read, const fs::path& target) {
  const std::uint64_t total = bundle_bytes(read);
  Gathering gathering(target);
  std::error_code error;
  if (const auto space = fs::space(gathering.folder(), error); !error && space.available < total) {
    throw std::runtime_error(fmt::format("{} has room for {}, and the bundle holds {}", target.string(),
                                         base::human_bytes(space.available), base::human_bytes(total)));
  }
  read_again(path, read,
             {[&](const BundleFile& file) { gathering.begin(file.path, file.executable); },
              [&](std::span<const std::byte> bytes) { gathering.put(bytes); }, [&] { gathering.end(); }});
  gathering.begin(std::string(kManifestName), false);
  gathering.put(std::as_bytes(std::span(read.texts.at(std::string(kManifestName)))));
  gathering.end();
  gathering.take_place();
}

void write_plain_tar(const fs::path& path, const Bundle& read, const fs::path& target) {
  const std::int64_t now = std::time(nullptr);
  const std::string& manifest = read.texts.at(std::string(kManifestName));
  TarWriter tar(target, Compression::kNone);
  tar.begin({std::string(kManifestName), manifest.size(), false, now});
  tar.put(std::as_bytes(std::span(manifest)));
  read_again(path, read,
             {[&](const BundleFile& file) { tar.begin({file.path, file.bytes, file.executable, now}); },
              [&](std::span<const std::byte> bytes) { tar.put(bytes); },
              {}});
  tar.close();
}

}  // namespace anymps::lab::runbook::handoff
