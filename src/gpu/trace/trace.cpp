#include "gpu/trace/trace.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "gpu/support/whole_number.h"
#include "gpu/trace/trace_format.h"

namespace anymps::gpu::trace {
namespace {

using namespace trace_format;

// Enough to find a place in a table that is three quarters full; a table fuller than that drops, rather than make each
// record walk all of it.
constexpr std::size_t kLongestProbe = 64;

template <typename T>
std::atomic_ref<T> atomic(T& field) {
  return std::atomic_ref<T>(field);
}

// In memory: a million, of which only what is written takes room.
constexpr std::uint64_t kRingInMemory = std::uint64_t{1} << 20;

std::uint64_t read_clock(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

Header& header_of(std::byte* base) { return *reinterpret_cast<Header*>(base); }
std::byte* strings_of(std::byte* base) { return base + kStrings.offset; }
std::uint32_t* string_index_of(std::byte* base) { return reinterpret_cast<std::uint32_t*>(base + kStringIndex.offset); }
Tally* tallies_of(std::byte* base) { return reinterpret_cast<Tally*>(base + kTallies.offset); }
Record* ring_of(std::byte* base) { return reinterpret_cast<Record*>(base + kRing.offset); }

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = text.size();
  for (std::size_t at = 0; at < text.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, std::min(sizeof word, text.size() - at));
    hash = mix(hash ^ word);
  }
  return hash;
}

void raise_to(std::uint64_t& field, std::uint64_t value) {
  auto slot = atomic(field);
  std::uint64_t seen = slot.load(std::memory_order_relaxed);
  while (seen < value && !slot.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

// Small numbers in the order in which threads first wrote: shorter to read than what the system calls them, and free of
// system calls. The main thread of a forked child starts anew.
std::atomic<std::uint32_t> threads_seen{0};
std::atomic<std::uint32_t> forks_seen{0};

std::uint32_t thread_number() {
  thread_local std::uint32_t number = 0;
  thread_local std::uint32_t generation = 0;
  const std::uint32_t current_generation = forks_seen.load(std::memory_order_relaxed);
  if (number == 0 || generation != current_generation) {
    number = threads_seen.fetch_add(1, std::memory_order_relaxed) + 1;
    generation = current_generation;
  }
  return number;
}

std::string_view text_of(std::byte* base, std::uint32_t id) {
  if (id == 0) return {};
  const std::byte* entry = strings_of(base) + std::size_t{id} * kStringAlignment;
  std::uint32_t length = 0;
  std::memcpy(&length, entry, sizeof length);
  return {reinterpret_cast<const char*>(entry + sizeof length), length};
}

std::uint64_t ring_count_asked_for() {
  const char* text = std::getenv("ANYMPS_TRACE_EVENTS");
  const auto count = text != nullptr ? support::whole_number(text) : std::nullopt;
  return std::clamp<std::uint64_t>(count.value_or(kRing.count), kRing.count, kLongestRing);
}

// Writes a string that nobody knows yet; 0 when there is no room.
std::uint32_t append_string(std::byte* base, std::string_view text) {
  const std::uint64_t need =
      (sizeof(std::uint32_t) + text.size() + kStringAlignment - 1) / kStringAlignment * kStringAlignment;
  auto used = atomic(header_of(base).strings_used);
  std::uint64_t at = used.load(std::memory_order_relaxed);
  do {
    if (at + need > kStrings.count) return 0;
  } while (!used.compare_exchange_weak(at, at + need, std::memory_order_relaxed));
  const auto length = static_cast<std::uint32_t>(text.size());
  std::memcpy(strings_of(base) + at, &length, sizeof length);
  std::memcpy(strings_of(base) + at + sizeof length, text.data(), length);
  return static_cast<std::uint32_t>(at / kStringAlignment);
}

std::string_view shortened(std::string_view text) {
  if (text.size() <= kLongestString) return text;
  std::size_t end = kLongestString;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // never cut a UTF-8 character
  return text.substr(0, end);
}

void copy_command_line(std::array<char, kCommandBytes>& into) {
  into.fill('\0');
#ifdef __APPLE__
  std::snprintf(into.data(), into.size(), "%s", getprogname());
#else
  const int file = ::open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  const ssize_t got = ::read(file, into.data(), into.size() - 1);
  ::close(file);
  for (ssize_t i = 0; i + 1 < got; ++i) {
    if (into[static_cast<std::size_t>(i)] == '\0') into[static_cast<std::size_t>(i)] = ' ';
  }
#endif
}

// The blocks are taken now: a store into a hole of a full disk would end the process by SIGBUS.
int reserve(int file, std::size_t bytes) {
#ifdef __APPLE__
  return ::ftruncate(file, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
#else
  return ::posix_fallocate(file, 0, static_cast<off_t>(bytes));
#endif
}

void say_off(const char* what, const char* folder, int error) {
  std::fprintf(stderr, "anymps: no trace of process %ld: %s in ANYMPS_RUN=%s: %s\n", static_cast<long>(::getpid()),
               what, folder, std::strerror(error));
}

}  // namespace

constinit std::atomic<Trace::State> Trace::state_{State::kUnopened};
constinit std::atomic<std::uint32_t> Trace::keepers_{0};
constinit std::atomic<std::uint32_t> Trace::details_{0};
constinit Trace Trace::instance_;
const int Trace::fork_handler_ = ::pthread_atfork(nullptr, nullptr, &Trace::forget_after_fork);

void Trace::forget_after_fork() noexcept {
  if (std::byte* parent = instance_.base_.exchange(nullptr, std::memory_order_relaxed)) {
    instance_.inherited_.store(parent, std::memory_order_relaxed);
  }
  instance_.in_memory_.store(false, std::memory_order_relaxed);
  forks_seen.fetch_add(1, std::memory_order_relaxed);
  threads_seen.store(0, std::memory_order_relaxed);
  state_.store(State::kUnopened, std::memory_order_release);
}

Trace* Trace::open() noexcept {
  State seen = State::kUnopened;
  if (!state_.compare_exchange_strong(seen, State::kOpening, std::memory_order_acq_rel)) {
    while ((seen = state_.load(std::memory_order_acquire)) == State::kOpening) std::this_thread::yield();
    return seen == State::kOn ? &instance_ : nullptr;
  }
  const char* folder = std::getenv("ANYMPS_RUN");
  const bool on = folder != nullptr && *folder != '\0' && instance_.map_file(folder);
  state_.store(on ? State::kOn : State::kOff, std::memory_order_release);
  return on ? &instance_ : nullptr;
}

bool Trace::map_file(const char* folder) noexcept {
  const std::uint64_t wall = read_clock(CLOCK_REALTIME);
  std::array<char, 4096> path{};
  const int length = std::snprintf(path.data(), path.size(), "%s/%s%ld-%llu%s", folder, kFilePrefix,
                                   static_cast<long>(::getpid()), static_cast<unsigned long long>(wall), kFileSuffix);
  if (length < 0 || static_cast<std::size_t>(length) >= path.size()) {
    say_off("cannot name a file", folder, ENAMETOOLONG);
    return false;
  }
  const int file = ::open(path.data(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) {
    say_off("cannot make a file", folder, errno);
    return false;
  }
  const std::uint64_t ring_count = ring_count_asked_for();
  int error = reserve(file, file_bytes(ring_count));
  void* mapping = MAP_FAILED;
  if (error == 0) {
    mapping = ::mmap(nullptr, file_bytes(ring_count), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapping == MAP_FAILED) error = errno;
  }
  ::close(file);
  if (error != 0) {
    ::unlink(path.data());
    say_off("cannot reserve a file", folder, error);
    return false;
  }

  begin(static_cast<std::byte*>(mapping), wall, ring_count);
  return true;
}

bool Trace::map_memory() noexcept {
  void* mapping = ::mmap(nullptr, file_bytes(kRingInMemory), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return false;
  begin(static_cast<std::byte*>(mapping), read_clock(CLOCK_REALTIME), kRingInMemory);
  return true;
}

void Trace::begin(std::byte* base, std::uint64_t wall, std::uint64_t ring_count) noexcept {
  Header& header = header_of(base);
  header.version = kVersion;
  header.header_bytes = sizeof(Header);
  header.pid = static_cast<std::uint32_t>(::getpid());
  header.parent_pid = static_cast<std::uint32_t>(::getppid());
  header.start_wall_ns = wall;
  header.start_ns = read_clock(CLOCK_MONOTONIC);
  header.strings = kStrings;
  header.string_index = kStringIndex;
  header.tallies = kTallies;
  header.ring = {kRing.offset, ring_count};
  header.strings_used = kStringAlignment;  // so that no string has the id 0
  std::array<char, kCommandBytes> command;
  copy_command_line(command);
  std::memcpy(header.command, command.data(), command.size());

  base_.store(base, std::memory_order_release);
  if (std::byte* parent = inherited_.exchange(nullptr, std::memory_order_relaxed)) {
    take_over_names_and_facts(parent);
    ::munmap(parent, file_bytes(header_of(parent).ring.count));
  }
  atomic(header.magic).store(kMagic, std::memory_order_release);
}

bool Trace::keep() noexcept {
  keepers_.fetch_add(1, std::memory_order_relaxed);
  if (current() != nullptr) return true;
  State seen = State::kIdle;
  if (state_.compare_exchange_strong(seen, State::kOn, std::memory_order_acq_rel)) return true;
  if (seen != State::kOff || !state_.compare_exchange_strong(seen, State::kOpening, std::memory_order_acq_rel)) {
    return current() != nullptr;
  }
  const bool on = instance_.map_memory();
  instance_.in_memory_.store(on, std::memory_order_relaxed);
  state_.store(on ? State::kOn : State::kOff, std::memory_order_release);
  return on;
}

void Trace::let_go() noexcept {
  const bool last = keepers_.fetch_sub(1, std::memory_order_relaxed) == 1;
  if (!last || !instance_.in_memory_.load(std::memory_order_relaxed)) return;
  State seen = State::kOn;
  state_.compare_exchange_strong(seen, State::kIdle, std::memory_order_acq_rel);
}

bool Trace::begin_details() noexcept {
  details_.fetch_add(1, std::memory_order_relaxed);
  return keep();
}

void Trace::end_details() noexcept {
  details_.fetch_sub(1, std::memory_order_relaxed);
  let_go();
}

std::uint64_t Trace::now_ns() noexcept { return read_clock(CLOCK_MONOTONIC); }

std::uint64_t Trace::written() const noexcept {
  std::byte* base = base_.load(std::memory_order_acquire);
  return base != nullptr ? atomic(header_of(base).ring_next).load(std::memory_order_acquire) : 0;
}

std::uint64_t Trace::read(std::uint64_t first, const std::function<void(const TraceEvent&)>& each,
                          std::uint64_t end) const {
  std::byte* base = base_.load(std::memory_order_acquire);
  const std::uint64_t newest = written();
  end = std::min(end, newest);
  if (base == nullptr || first >= end) return 0;
  const std::uint64_t count = header_of(base).ring.count;
  const std::uint64_t oldest = newest - std::min(newest, count);
  std::uint64_t lost = std::clamp(oldest, first, end) - first;
  for (std::uint64_t index = first + lost; index < end; ++index) {
    Record& slot = ring_of(base)[index % count];
    Record copy{};
    copy.sequence = atomic(slot.sequence).load(std::memory_order_acquire);
    copy.time_ns = atomic(slot.time_ns).load(std::memory_order_acquire);
    copy.kind_and_thread = atomic(slot.kind_and_thread).load(std::memory_order_acquire);
    copy.name_and_site = atomic(slot.name_and_site).load(std::memory_order_acquire);
    copy.a = atomic(slot.a).load(std::memory_order_acquire);
    copy.b = atomic(slot.b).load(std::memory_order_acquire);
    copy.c = atomic(slot.c).load(std::memory_order_acquire);
    copy.check = atomic(slot.check).load(std::memory_order_acquire);
    if (copy.sequence != index + 1 || copy.check != record_check(copy)) {
      ++lost;  // being written, or overwritten meanwhile
      continue;
    }
    each({static_cast<TraceKind>(copy.kind_and_thread >> 32), static_cast<std::uint32_t>(copy.kind_and_thread),
          copy.time_ns, text_of(base, static_cast<std::uint32_t>(copy.name_and_site >> 32)),
          text_of(base, static_cast<std::uint32_t>(copy.name_and_site)), copy.a, copy.b, copy.c});
  }
  return lost;
}

void Trace::take_over_names_and_facts(std::byte* parent) noexcept {
  std::byte* base = base_.load(std::memory_order_relaxed);
  // The parent's threads may be adding strings meanwhile. A slot is published after its bytes, so the index goes first.
  for (std::size_t i = 0; i < kStringIndex.count; ++i) {
    string_index_of(base)[i] = atomic(string_index_of(parent)[i]).load(std::memory_order_acquire);
  }
  const std::uint64_t used =
      std::min<std::uint64_t>(atomic(header_of(parent).strings_used).load(std::memory_order_acquire), kStrings.count);
  std::memcpy(strings_of(base), strings_of(parent), used);
  header_of(base).strings_used = used;
  for (std::size_t i = 0; i < kFactSlots; ++i) {
    const std::uint64_t fact = atomic(header_of(parent).facts[i]).load(std::memory_order_acquire);
    // A fact set after the copy above may name a string that is not in it.
    const auto known = [used](std::uint64_t id) { return id * kStringAlignment < used; };
    if (known(fact >> 32) && known(fact & 0xffff'ffff)) header_of(base).facts[i] = fact;
  }
}

std::uint32_t Trace::intern(std::string_view text) noexcept {
  std::byte* base = base_.load(std::memory_order_acquire);
  if (base == nullptr || text.empty()) return 0;
  text = shortened(text);
  const std::uint64_t hash = hash_of(text);
  std::uint32_t written = 0;
  for (std::size_t probe = 0; probe < kLongestProbe; ++probe) {
    auto slot = atomic(string_index_of(base)[(hash + probe) % kStringIndex.count]);
    std::uint32_t id = slot.load(std::memory_order_acquire);
    if (id == 0) {
      // Losing the swap to another thread leaves these bytes unused: rare, and cheaper than a lock.
      if (written == 0) written = append_string(base, text);
      if (written == 0) break;
      if (slot.compare_exchange_strong(id, written, std::memory_order_acq_rel)) return written;
    }
    if (text_of(base, id) == text) return id;
  }
  atomic(header_of(base).dropped_strings).fetch_add(1, std::memory_order_relaxed);
  return 0;
}

void Trace::tally(std::uint64_t key, std::uint64_t now, std::uint64_t value) noexcept {
  std::byte* base = base_.load(std::memory_order_acquire);
  const std::uint64_t hash = mix(key);
  for (std::size_t probe = 0; probe < kLongestProbe; ++probe) {
    Tally& row = tallies_of(base)[(hash + probe) % kTallies.count];
    std::uint64_t seen = atomic(row.key).load(std::memory_order_relaxed);
    if (seen == 0 && atomic(row.key).compare_exchange_strong(seen, key, std::memory_order_relaxed)) {
      atomic(row.first).store(value, std::memory_order_relaxed);
      atomic(row.first_ns).store(now, std::memory_order_relaxed);
      seen = key;
    }
    if (seen != key) continue;
    atomic(row.count).fetch_add(1, std::memory_order_relaxed);
    atomic(row.total).fetch_add(value, std::memory_order_relaxed);
    raise_to(row.max, value);
    raise_to(row.last_ns, now);
    return;
  }
  atomic(header_of(base).dropped_tallies).fetch_add(1, std::memory_order_relaxed);
}

void Trace::record(TraceKind kind, std::uint32_t name, std::uint32_t site, std::uint64_t a, std::uint64_t b,
                   std::uint64_t c) noexcept {
  write(now_ns(), kind, name, site, a, b, c);
}

void Trace::record_span(TraceKind kind, std::uint32_t name, std::uint64_t began_ns, std::uint64_t a,
                        std::uint64_t c) noexcept {
  const std::uint64_t now = now_ns();
  write(now, kind, name, 0, a, now - began_ns, c);
}

void Trace::write(std::uint64_t now, TraceKind kind, std::uint32_t name, std::uint32_t site, std::uint64_t a,
                  std::uint64_t b, std::uint64_t c) noexcept {
  std::byte* base = base_.load(std::memory_order_acquire);
  const auto kind_number = static_cast<std::uint32_t>(kind);
  if (base == nullptr || kind_number == 0 || kind_number > 0xff) return;
  tally(tally_key(kind_number, name & kIdMask, site & kIdMask), now, b);

  const std::uint64_t index = atomic(header_of(base).ring_next).fetch_add(1, std::memory_order_relaxed);
  Record full{
      index + 1, now, std::uint64_t{kind_number} << 32 | thread_number(), std::uint64_t{name} << 32 | site, a, b, c, 0};
  full.check = record_check(full);
  // Release on each word keeps it behind the 0 that marks the record as unfinished.
  Record& slot = ring_of(base)[index % header_of(base).ring.count];
  atomic(slot.sequence).store(0, std::memory_order_relaxed);
  atomic(slot.time_ns).store(full.time_ns, std::memory_order_release);
  atomic(slot.kind_and_thread).store(full.kind_and_thread, std::memory_order_release);
  atomic(slot.name_and_site).store(full.name_and_site, std::memory_order_release);
  atomic(slot.a).store(full.a, std::memory_order_release);
  atomic(slot.b).store(full.b, std::memory_order_release);
  atomic(slot.c).store(full.c, std::memory_order_release);
  atomic(slot.check).store(full.check, std::memory_order_release);
  atomic(slot.sequence).store(full.sequence, std::memory_order_release);
}

void Trace::note_memory(std::uint64_t allocated_bytes, std::uint64_t block_bytes, std::uint64_t driver_bytes) noexcept {
  std::byte* base = base_.load(std::memory_order_acquire);
  if (base == nullptr) return;
  raise_to(header_of(base).peak_allocated_bytes, allocated_bytes);
  raise_to(header_of(base).peak_block_bytes, block_bytes);
  raise_to(header_of(base).peak_driver_bytes, driver_bytes);
}

void Trace::note_buffer(std::uint64_t bytes) noexcept {
  std::byte* base = base_.load(std::memory_order_acquire);
  if (base != nullptr) raise_to(header_of(base).largest_buffer_bytes, bytes);
}

void Trace::set_fact(std::string_view key, std::string_view value) noexcept {
  std::byte* base = base_.load(std::memory_order_acquire);
  if (base == nullptr) return;
  const std::uint32_t key_id = intern(key);
  const std::uint64_t fact = std::uint64_t{key_id} << 32 | intern(value);
  if (key_id == 0) return;
  for (std::uint64_t& field : header_of(base).facts) {
    auto slot = atomic(field);
    std::uint64_t seen = slot.load(std::memory_order_relaxed);
    while (seen == 0 || seen >> 32 == key_id) {
      if (slot.compare_exchange_weak(seen, fact, std::memory_order_release, std::memory_order_relaxed)) return;
    }
  }
}

}  // namespace anymps::gpu::trace
