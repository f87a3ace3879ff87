#include "superres/files/mapped_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string>

namespace anymps::superres::files {
namespace {

constexpr int kStatus = 2;

// Read by the signal's handler, which may take no lock: `begin` is set last and cleared first.
struct Map {
  std::atomic<std::uintptr_t> begin{0};
  std::size_t size = 0;
  std::array<char, 512> line{};
  std::size_t length = 0;
};

std::array<Map, MappedFile::kMostMapped> maps;
std::mutex maps_mutex;

extern "C" void on_bus_error(int, siginfo_t* information, void*) {
  const auto address = reinterpret_cast<std::uintptr_t>(information->si_addr);
  for (const Map& map : maps) {
    const std::uintptr_t begin = map.begin.load(std::memory_order_acquire);
    if (begin == 0 || address < begin || address - begin >= map.size) continue;
    (void)!::write(STDERR_FILENO, map.line.data(), map.length);
    ::_exit(kStatus);
  }
  // Not ours: the instruction is run again, and this time it ends the program as it would have.
  ::signal(SIGBUS, SIG_DFL);
}

void listen_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action{};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGBUS, &action, nullptr);
  });
}

struct Range {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

// Where the file is mapped. LMDB does not tell.
Range range_of(const std::filesystem::path& path) {
  struct stat file{};
  if (::stat(path.c_str(), &file) != 0) return {};
  std::ifstream all("/proc/self/maps");
  for (std::string line; std::getline(all, line);) {
    std::istringstream words(line);
    Range range;
    char dash = 0;
    std::string rights;
    std::string offset;
    std::string device;
    ino_t inode = 0;
    words >> std::hex >> range.begin >> dash >> range.end >> rights >> offset >> device >> std::dec >> inode;
    if (words && inode == file.st_ino && line.ends_with("/" + path.filename().string())) return range;
  }
  return {};
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) : place_(kMostMapped) {
  const Range range = range_of(path);
  if (range.begin == 0) return;
  listen_once();
  const std::lock_guard lock(maps_mutex);
  const auto free = std::ranges::find_if(maps, [](const Map& map) { return map.begin.load() == 0; });
  if (free == maps.end()) return;
  place_ = static_cast<std::size_t>(free - maps.begin());
  const std::string line = "anymps: error: " + path.string() + ": it is cut short\n";
  free->length = std::min(line.size(), free->line.size());
  std::copy_n(line.begin(), free->length, free->line.begin());
  free->size = range.end - range.begin;
  free->begin.store(range.begin, std::memory_order_release);
}

MappedFile::~MappedFile() {
  if (place_ == kMostMapped) return;
  const std::lock_guard lock(maps_mutex);
  maps[place_].begin.store(0, std::memory_order_release);
}

}  // namespace anymps::superres::files
