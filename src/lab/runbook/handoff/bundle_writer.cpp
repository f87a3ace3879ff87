#include "lab/runbook/handoff/bundle_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <span>

#include "gpu/support/sha256.h"
#include "lab/runbook/handoff/bundle.h"
#include "lab/runbook/handoff/bundle_reader.h"

namespace anymps::lab::runbook::handoff {
namespace {

namespace fs = std::filesystem;

struct Contents {
  PackedFile file;
  BundleFile listed;
  std::int64_t modified = 0;
};

class ByteCount {
 public:
  ByteCount(const BundleProgress& progress, std::uint64_t of) : progress_(progress), of_(of) {}
  void add(std::uint64_t bytes) {
    done_ += bytes;
    if (progress_) progress_(done_, of_);
  }

 private:
  const BundleProgress& progress_;
  std::uint64_t done_ = 0;
  std::uint64_t of_;
};

// Gives the contents, piece by piece.
void pass(const PackedFile& file, const std::function<void(std::span<const std::byte>)>& take) {
  if (file.source.empty()) {
    take(std::as_bytes(std::span(file.text)));
    return;
  }
  std::ifstream input(file.source, std::ios::binary);
  std::array<char, 64 << 10> block;
  while (input.read(block.data(), block.size()), input.gcount() > 0) {
    take(std::as_bytes(std::span(block.data(), static_cast<std::size_t>(input.gcount()))));
  }
  if (!input.eof()) throw std::runtime_error(file.source.string() + " cannot be read");
}

// A file beside the target that is removed unless it took the target's place.
class NewFile {
 public:
  explicit NewFile(const fs::path& target) : target_(target) {
    pattern_ = (fs::absolute(target).parent_path() / ("." + target.filename().string() + ".XXXXXX")).string();
    const int file = ::mkstemp(pattern_.data());
    if (file < 0) fail(errno);
    const mode_t mask = ::umask(0);
    ::umask(mask);
    const int problem = ::fchmod(file, 0666 & ~mask) == 0 ? 0 : errno;
    ::close(file);
    if (problem != 0) {
      ::unlink(pattern_.c_str());
      fail(problem);
    }
  }
  ~NewFile() { ::unlink(pattern_.c_str()); }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  const std::string& path() const { return pattern_; }
  void bring_to_disk() const {
    const int file = ::open(pattern_.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) fail(errno);
    const int problem = ::fsync(file) == 0 ? 0 : errno;
    ::close(file);
    if (problem != 0) fail(problem);
  }
  void take_place() const {
    if (::rename(pattern_.c_str(), target_.c_str()) != 0) fail(errno);
  }

 private:
  [[noreturn]] void fail(int why) const {
    throw std::runtime_error(target_.string() + " cannot be written: " + std::strerror(why));
  }

  fs::path target_;
  std::string pattern_;
};

}  // namespace

WrittenBundle write_bundle(const fs::path& target, Manifest manifest, std::vector<PackedFile> files, std::int64_t made,
                           const BundleProgress& progress,
                           const std::function<void(const WrittenBundle&)>& before_place) {
  NewFile made_beside(target);
  std::ranges::sort(files, {}, &PackedFile::path);
  std::vector<Contents> all;
  std::uint64_t total = 0;
  for (PackedFile& file : files) {
    Contents contents;
    contents.listed.path = file.path;
    contents.listed.bytes = file.text.size();
    contents.modified = made;
    if (!file.source.empty()) {
      struct stat state{};
      if (::stat(file.source.c_str(), &state) != 0 || !S_ISREG(state.st_mode)) {
        throw std::runtime_error(file.source.string() + " cannot be packed: it is no regular file");
      }
      contents.listed.bytes = static_cast<std::uint64_t>(state.st_size);
      contents.listed.executable = (state.st_mode & S_IXUSR) != 0;
      contents.modified = state.st_mtime;
    }
    total += contents.listed.bytes;
    contents.file = std::move(file);
    all.push_back(std::move(contents));
  }
  // Twice: for the digests, and into the archive.
  ByteCount count(progress, 2 * total);
  manifest.files.clear();
  for (Contents& contents : all) {
    gpu::support::Sha256 hash;
    pass(contents.file, [&](std::span<const std::byte> bytes) {
      hash.update(bytes);
      count.add(bytes.size());
    });
    contents.listed.sha256 = gpu::support::hex_of(hash.finish());
    manifest.files.push_back(contents.listed);
  }
  manifest.format = kBundleFormat;
  manifest.version = kBundleVersion;
  const std::string text = bundle_text(document::to_json(manifest));

  TarWriter tar(made_beside.path(), Compression::kZstd);
  tar.begin({std::string(kManifestName), text.size(), false, made});
  tar.put(std::as_bytes(std::span(text)));
  for (const Contents& contents : all) {
    tar.begin({contents.listed.path, contents.listed.bytes, contents.listed.executable, contents.modified});
    std::uint64_t left = contents.listed.bytes;
    pass(contents.file, [&](std::span<const std::byte> bytes) {
      if (bytes.size() > left) throw std::runtime_error(contents.file.source.string() + " grows while it is packed");
      left -= bytes.size();
      tar.put(bytes);
      count.add(bytes.size());
    });
  }
  tar.close();
  try {
    const Bundle read = read_bundle(fs::path(made_beside.path()));
    WrittenBundle written{read.sha256, all.size(), total};
    made_beside.bring_to_disk();
    if (before_place) before_place(written);
    made_beside.take_place();
    return written;
  } catch (const BundleError& error) {
    throw std::runtime_error(fmt::format("{} was not made: nobody could read it: {}", target.string(), error.what()));
  }
}

}  // namespace anymps::lab::runbook::handoff
