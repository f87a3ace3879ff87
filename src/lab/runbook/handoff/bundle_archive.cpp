#include "lab/runbook/handoff/bundle_archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "lab/runbook/handoff/bundle.h"

#ifndef __APPLE__
// libarchive names all formats that it can write in one table. Linked statically, these would bring libxml2, nettle,
// zlib, bzip2 and lzma with them, of which nothing is used; defined here, they are not taken from the library.
extern "C" {
int archive_write_set_format_7zip(archive*) { return ARCHIVE_FATAL; }
int archive_write_set_format_iso9660(archive*) { return ARCHIVE_FATAL; }
int archive_write_set_format_mtree(archive*) { return ARCHIVE_FATAL; }
int archive_write_set_format_mtree_classic(archive*) { return ARCHIVE_FATAL; }
int archive_write_set_format_xar(archive*) { return ARCHIVE_FATAL; }
int archive_write_set_format_zip(archive*) { return ARCHIVE_FATAL; }
}
#endif

namespace anymps::lab::runbook::handoff {
namespace {

constexpr std::size_t kBlock = 64 << 10;
// A tar ends with two blocks of zeros, and is filled up with them to a multiple of what a tape took.
constexpr std::size_t kTarEnd = 1024;
constexpr std::size_t kMostPadding = 1 << 20;

struct FreeEntry {
  void operator()(archive_entry* entry) const { ::archive_entry_free(entry); }
};

std::string complaint(archive* of) {
  const char* text = ::archive_error_string(of);
  return text != nullptr ? text : "it is damaged";
}

}  // namespace

TarWriter::TarWriter(const std::filesystem::path& path, Compression compression)
    : path_(path), archive_(::archive_write_new()) {
  // Names are bytes of UTF-8, whatever the locale is.
  if (archive_ == nullptr ||
      (compression == Compression::kZstd && ::archive_write_add_filter_zstd(archive_) != ARCHIVE_OK) ||
      ::archive_write_set_format_pax_restricted(archive_) != ARCHIVE_OK ||
      ::archive_write_set_options(archive_, "hdrcharset=BINARY") != ARCHIVE_OK ||
      ::archive_write_open_filename(archive_, path.c_str()) != ARCHIVE_OK) {
    const std::string why = archive_ != nullptr ? complaint(archive_) : "no memory";
    ::archive_write_free(archive_);
    throw std::runtime_error(path.string() + " cannot be written: " + why);
  }
}

TarWriter::~TarWriter() { ::archive_write_free(archive_); }

void TarWriter::fail() const {
  // libarchive's own words are no more than "Write error".
  const int why = ::archive_errno(archive_);
  throw std::runtime_error(path_.string() + " cannot be written: " + complaint(archive_) +
                           (why > 0 ? std::string(" (") + std::strerror(why) + ")" : ""));
}

void TarWriter::begin(const TarEntry& entry) {
  const std::unique_ptr<archive_entry, FreeEntry> header(::archive_entry_new());
  ::archive_entry_set_pathname(header.get(), entry.path.c_str());
  ::archive_entry_set_size(header.get(), static_cast<la_int64_t>(entry.bytes));
  ::archive_entry_set_filetype(header.get(), AE_IFREG);
  ::archive_entry_set_perm(header.get(), entry.executable ? 0755 : 0644);
  ::archive_entry_set_uid(header.get(), 0);
  ::archive_entry_set_gid(header.get(), 0);
  ::archive_entry_set_mtime(header.get(), entry.modified, 0);
  if (::archive_write_header(archive_, header.get()) < ARCHIVE_WARN) fail();
}

void TarWriter::put(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const la_ssize_t put = ::archive_write_data(archive_, bytes.data(), bytes.size());
    if (put <= 0) fail();
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

void TarWriter::close() {
  if (::archive_write_close(archive_) != ARCHIVE_OK) fail();
}

// Two archives of libarchive: one takes the compression away and sees the file to its end, the other reads the tar that
// comes out, and would stop where that says it ends.
struct TarReader::Streams {
  archive* plain = ::archive_read_new();
  archive* tar = ::archive_read_new();
  std::vector<std::byte> block = std::vector<std::byte>(kBlock);
  std::size_t zeros = 0;  // at the end of what was read so far

  ~Streams() {
    ::archive_read_free(tar);
    ::archive_read_free(plain);
  }

  void open(int opened) {
    archive_entry* whole = nullptr;
    if (opened != ARCHIVE_OK || ::archive_read_next_header(plain, &whole) != ARCHIVE_OK) {
      throw BundleError("its beginning is missing");
    }
    ::archive_read_support_format_tar(tar);
    if (::archive_read_open(tar, this, nullptr, &Streams::feed, nullptr) != ARCHIVE_OK) {
      throw BundleError(complaint(tar));
    }
  }

  void prepare() {
    ::archive_read_support_filter_zstd(plain);
    ::archive_read_support_format_raw(plain);
  }

  static la_ssize_t feed(archive*, void* self, const void** buffer) {
    auto& streams = *static_cast<Streams*>(self);
    const la_ssize_t got = ::archive_read_data(streams.plain, streams.block.data(), streams.block.size());
    if (got < 0) {
      ::archive_set_error(streams.tar, EILSEQ, "%s", complaint(streams.plain).c_str());
      return ARCHIVE_FATAL;
    }
    streams.count_zeros(static_cast<std::size_t>(got));
    *buffer = streams.block.data();
    return got;
  }

  void count_zeros(std::size_t got) {
    const auto end = block.begin() + static_cast<std::ptrdiff_t>(got);
    const auto last = std::find_if(std::make_reverse_iterator(end), block.rend(),
                                   [](std::byte byte) { return byte != std::byte{0}; });
    const auto tail = static_cast<std::size_t>(last - std::make_reverse_iterator(end));
    zeros = tail == got ? zeros + got : tail;
  }

  void drain() {
    std::size_t rest = 0;
    while (true) {
      const la_ssize_t got = ::archive_read_data(plain, block.data(), block.size());
      if (got < 0) throw BundleError(complaint(plain));
      if (got == 0) break;
      const std::size_t before = zeros;
      count_zeros(static_cast<std::size_t>(got));
      rest += static_cast<std::size_t>(got);
      if (zeros != before + static_cast<std::size_t>(got) || rest > kMostPadding) {
        throw BundleError("something was appended to it");
      }
    }
    if (zeros < kTarEnd) throw BundleError("its end is missing");
    archive_entry* more = nullptr;
    if (::archive_read_next_header(plain, &more) != ARCHIVE_EOF) throw BundleError("something was appended to it");
  }
};

TarReader::TarReader(const std::filesystem::path& path) : streams_(std::make_unique<Streams>()) {
  streams_->prepare();
  streams_->open(::archive_read_open_filename(streams_->plain, path.c_str(), kBlock));
}

TarReader::TarReader(std::span<const std::byte> bytes) : streams_(std::make_unique<Streams>()) {
  streams_->prepare();
  streams_->open(::archive_read_open_memory(streams_->plain, bytes.data(), bytes.size()));
}

TarReader::~TarReader() = default;

std::optional<TarEntry> TarReader::next() {
  archive_entry* header = nullptr;
  const int state = ::archive_read_next_header(streams_->tar, &header);
  if (state == ARCHIVE_EOF) {
    streams_->drain();
    return std::nullopt;
  }
  if (state != ARCHIVE_OK) throw BundleError(complaint(streams_->tar));
  TarEntry entry;
  const char* path = ::archive_entry_pathname(header);
  entry.path = path != nullptr ? path : "";
  if (const auto fault = path_fault(entry.path)) throw BundleError(*fault);
  if (::archive_entry_hardlink(header) != nullptr || ::archive_entry_symlink(header) != nullptr ||
      ::archive_entry_filetype(header) != AE_IFREG) {
    throw BundleError("it has an entry that is no regular file: " + entry.path);
  }
  if (::archive_entry_sparse_count(header) > 0 || ::archive_entry_size_is_set(header) == 0 ||
      ::archive_entry_size(header) < 0) {
    throw BundleError("it has a file with holes: " + entry.path);
  }
  entry.bytes = static_cast<std::uint64_t>(::archive_entry_size(header));
  entry.executable = (::archive_entry_perm(header) & S_IXUSR) != 0;
  entry.modified = ::archive_entry_mtime(header);
  return entry;
}

std::size_t TarReader::read(std::span<std::byte> into) {
  const la_ssize_t got = ::archive_read_data(streams_->tar, into.data(), into.size());
  if (got < 0) throw BundleError(complaint(streams_->tar));
  return static_cast<std::size_t>(got);
}

}  // namespace anymps::lab::runbook::handoff
