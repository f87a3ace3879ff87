#include "superres/files/lmdb_pages.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace anymps::superres::files {
namespace {

// The layout of LMDB 0.9, as mdb.c has it, on machines of 64 bits.
constexpr std::uint16_t kBranch = 0x01;
constexpr std::uint16_t kLeaf = 0x02;
constexpr std::uint16_t kOverflow = 0x04;
constexpr std::uint16_t kMeta = 0x08;
constexpr std::uint32_t kMagic = 0xbeefc0de;
constexpr std::uint32_t kFormat = 1;
constexpr std::uint16_t kLargeValue = 0x01;
constexpr std::uint16_t kIntegerKeys = 0x08;
constexpr std::uint64_t kNoPage = ~std::uint64_t{0};
constexpr std::uint64_t kFirstPage = 2;  // behind the two that describe the file
constexpr unsigned kDeepest = 32;        // what its cursors can follow
constexpr std::uint32_t kSmallestPage = 4096;
constexpr std::uint32_t kLargestPage = 1 << 15;

struct PageHeader {
  std::uint64_t number;
  std::uint16_t pad;
  std::uint16_t flags;
  std::uint16_t lower;  // where the places of nodes end; of a large value, this and the next are its count of pages
  std::uint16_t upper;  // where the nodes begin
};
static_assert(sizeof(PageHeader) == 16);

struct Tree {
  std::uint32_t pad;  // in the tree of free pages: the size of a page
  std::uint16_t flags;
  std::uint16_t depth;
  std::uint64_t branch_pages;
  std::uint64_t leaf_pages;
  std::uint64_t overflow_pages;
  std::uint64_t entries;
  std::uint64_t root;
};
static_assert(sizeof(Tree) == 48);

struct Meta {
  std::uint32_t magic;
  std::uint32_t version;
  std::uint64_t address;
  std::uint64_t map_bytes;
  Tree free;
  Tree main;
  std::uint64_t last_page;
  std::uint64_t transaction;
};
static_assert(sizeof(Meta) == 136);

struct Node {
  std::uint16_t low;
  std::uint16_t high;
  std::uint16_t flags;
  std::uint16_t key_bytes;

  std::uint64_t page() const { return low | std::uint64_t{high} << 16U | std::uint64_t{flags} << 32U; }
  std::uint64_t value_bytes() const { return low | std::uint64_t{high} << 16U; }
};
static_assert(sizeof(Node) == 8);

[[noreturn]] void damaged(const char* what) { throw PagesError(std::string("it is damaged: ") + what); }

template <typename Value>
Value at(const std::vector<char>& bytes, std::size_t place) {
  Value value{};
  std::memcpy(&value, bytes.data() + place, sizeof value);
  return value;
}

class File {
 public:
  explicit File(const std::filesystem::path& path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (file_ < 0) fail();
    struct stat status{};
    if (::fstat(file_, &status) != 0) {
      const int why = errno;
      ::close(file_);  // nobody else will: a constructor that throws has no destructor
      throw PagesError(std::strerror(why));
    }
    bytes_ = static_cast<std::uint64_t>(status.st_size);
  }
  ~File() { ::close(file_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  std::uint64_t bytes() const { return bytes_; }

  void read(std::uint64_t place, std::vector<char>& into) const {
    std::size_t done = 0;
    while (done < into.size()) {
      const ssize_t got = ::pread(file_, into.data() + done, into.size() - done, static_cast<off_t>(place + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail();
      if (got == 0) throw PagesError("it is cut short");
      done += static_cast<std::size_t>(got);
    }
  }

 private:
  [[noreturn]] static void fail() { throw PagesError(std::strerror(errno)); }

  int file_;
  std::uint64_t bytes_ = 0;
};

Meta meta_at(const File& file, std::uint64_t place) {
  std::vector<char> bytes(sizeof(PageHeader) + sizeof(Meta));
  file.read(place, bytes);
  const auto meta = at<Meta>(bytes, sizeof(PageHeader));
  if ((at<PageHeader>(bytes, 0).flags & kMeta) == 0 || meta.magic != kMagic || meta.version != kFormat) {
    throw PagesError("it is no LMDB database of this format");
  }
  const std::uint32_t page_bytes = meta.free.pad;
  if (!std::has_single_bit(page_bytes) || page_bytes < kSmallestPage || page_bytes > kLargestPage) {
    damaged("its pages have an impossible size");
  }
  return meta;
}

std::array<Meta, 2> metas_of(const File& file) {
  const Meta first = meta_at(file, 0);
  const Meta second = meta_at(file, first.free.pad);
  if (second.free.pad != first.free.pad) damaged("its pages have two sizes");
  // LMDB writes states in turn, and takes the one with the parity of its number; a new file has 0 in both.
  if (first.transaction % 2 != 0 || (second.transaction % 2 == 0 && second.transaction != 0)) {
    damaged("its states are out of order");
  }
  return {first, second};
}

class Walk {
 public:
  Walk(const File& file, const Meta& meta, bool for_writing)
      : file_(file), meta_(meta), for_writing_(for_writing), page_bytes_(meta.free.pad) {
    // LMDB need not write the very last pages that it counts, where they became free again. Pages that are in use are
    // looked at one by one.
    const std::uint64_t there = file.bytes() / page_bytes_;
    constexpr std::uint64_t kUnwritten = 16;
    if (meta.last_page >= there + kUnwritten) throw PagesError("it is cut short");
    seen_.resize(meta.last_page + 1);
  }

  void tree(const Tree& tree, std::uint16_t flags, bool of_free_pages) {
    // Above these are flags of the environment.
    constexpr std::uint16_t kOfTrees = 0x7f;
    if ((tree.flags & kOfTrees) != flags) throw PagesError("it is a database of another program");
    if (tree.root == kNoPage) return;
    if (tree.depth == 0 || tree.depth > kDeepest) damaged("its tree is too deep");
    of_free_pages_ = of_free_pages;
    page(tree.root, tree.depth);
  }

 private:
  // Of `count` pages from `number` on, each is there and in use once.
  void claim(std::uint64_t number, std::uint64_t count) {
    if (number < kFirstPage || number > meta_.last_page || count > meta_.last_page - number + 1) {
      damaged("it refers to a page that it does not have");
    }
    if ((number + count) * page_bytes_ > file_.bytes()) throw PagesError("it is cut short");
    for (std::uint64_t i = number; i < number + count; ++i) {
      if (seen_[i]) damaged("a page is used twice");
      seen_[i] = true;
    }
  }

  void page(std::uint64_t number, unsigned levels) {
    claim(number, 1);
    std::vector<char> bytes(page_bytes_);
    file_.read(number * page_bytes_, bytes);
    const auto header = at<PageHeader>(bytes, 0);
    const bool is_leaf = levels == 1;
    if (header.number != number || header.flags != (is_leaf ? kLeaf : kBranch)) {
      damaged("a page is not what its place says");
    }
    if (header.lower < sizeof header || header.lower > header.upper || header.upper > page_bytes_ ||
        header.lower % sizeof(std::uint16_t) != 0) {
      damaged("a page has impossible bounds");
    }
    const std::size_t nodes = (header.lower - sizeof header) / sizeof(std::uint16_t);
    if (nodes < (is_leaf ? 1 : 2)) damaged("a page is empty");
    for (std::size_t i = 0; i < nodes; ++i) {
      const auto place = at<std::uint16_t>(bytes, sizeof header + i * sizeof(std::uint16_t));
      if (place < header.upper || place + sizeof(Node) > page_bytes_) damaged("a node is outside of its page");
      const auto node = at<Node>(bytes, place);
      const std::size_t key = place + sizeof(Node);
      if (key + node.key_bytes > page_bytes_) damaged("a key is outside of its page");
      if (is_leaf) {
        value(bytes, node, key + node.key_bytes);
      } else {
        page(node.page(), levels - 1);
      }
    }
  }

  void value(const std::vector<char>& bytes, const Node& node, std::size_t place) {
    const std::uint64_t size = node.value_bytes();
    if (node.flags == kLargeValue) {
      if (place + sizeof(std::uint64_t) > page_bytes_) damaged("a value is outside of its page");
      large_value(at<std::uint64_t>(bytes, place), size);
      return;
    }
    if (node.flags != 0) throw PagesError("it is a database of another program");
    if (place + size > page_bytes_) damaged("a value is outside of its page");
    if (!of_free_pages_) return;
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(place);
    free_list({begin, begin + static_cast<std::ptrdiff_t>(size)});
  }

  void large_value(std::uint64_t number, std::uint64_t size) {
    const std::uint64_t count = (sizeof(PageHeader) + size + page_bytes_ - 1) / page_bytes_;
    claim(number, count);
    if (!for_writing_) return;
    std::vector<char> bytes(of_free_pages_ ? sizeof(PageHeader) + size : sizeof(PageHeader));
    file_.read(number * page_bytes_, bytes);
    const auto header = at<PageHeader>(bytes, 0);
    // A value that became smaller keeps its pages.
    const std::uint64_t said = header.lower | std::uint64_t{header.upper} << 16U;
    if (header.number != number || header.flags != kOverflow || said < count) {
      damaged("a page is not what its place says");
    }
    if (said > count) claim(number + count, said - count);
    if (of_free_pages_) free_list({bytes.begin() + sizeof(PageHeader), bytes.end()});
  }

  // A count, and so many numbers of pages, the largest first.
  void free_list(const std::vector<char>& bytes) const {
    constexpr std::size_t kNumber = sizeof(std::uint64_t);
    if (bytes.size() < kNumber || bytes.size() / kNumber - 1 < at<std::uint64_t>(bytes, 0)) {
      damaged("its list of free pages is too short");
    }
    std::uint64_t before = meta_.last_page + 1;
    for (std::uint64_t i = 1; i <= at<std::uint64_t>(bytes, 0); ++i) {
      const auto number = at<std::uint64_t>(bytes, i * kNumber);
      if (number >= before || number < kFirstPage) damaged("its list of free pages names one that it does not have");
      before = number;
    }
  }

  const File& file_;
  const Meta& meta_;
  bool for_writing_;
  bool of_free_pages_ = false;
  std::uint32_t page_bytes_;
  std::vector<bool> seen_;
};

}  // namespace

void check_first_pages(const std::filesystem::path& path) {
  std::error_code none;
  if (!std::filesystem::exists(path, none)) return;
  const File file(path);
  if (file.bytes() > 0) metas_of(file);
}

bool check_pages(const std::filesystem::path& path, std::uint64_t transaction, bool for_writing) {
  const File file(path);
  const Meta meta = metas_of(file)[transaction % 2];
  if (meta.transaction != transaction) return false;
  Walk walk(file, meta, for_writing);
  walk.tree(meta.main, 0, false);
  if (for_writing) walk.tree(meta.free, kIntegerKeys, true);
  return true;
}

}  // namespace anymps::superres::files
