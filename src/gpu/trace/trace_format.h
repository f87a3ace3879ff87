// The layout of a trace file, version 3. Shared by the writer (trace.cpp) and the reader (lab/trace/reader.cpp);
// docs/trace.md explains it. All numbers are little-endian; all offsets count from the start of the file.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace anymps::gpu::trace::trace_format {

static_assert(std::endian::native == std::endian::little, "trace files are written in place, little-endian");

inline constexpr std::uint64_t kMagic = 0x3145434152544d41;  // "AMTRACE1"
inline constexpr std::uint32_t kVersion = 3;
inline constexpr char kFilePrefix[] = "trace-";
inline constexpr char kFileSuffix[] = ".amt";

inline constexpr std::size_t kFactSlots = 32;
inline constexpr std::size_t kCommandBytes = 1024;
inline constexpr std::size_t kLongestString = 1024;

// A section of the file: `count` entries from `offset` on.
struct Section {
  std::uint64_t offset;
  std::uint64_t count;
};

struct Header {
  std::uint64_t magic;  // written last: a file without it was never finished
  std::uint32_t version;
  std::uint32_t header_bytes;
  std::uint32_t pid;
  std::uint32_t parent_pid;
  std::uint64_t start_wall_ns;  // since 1970
  std::uint64_t start_ns;       // on the clock of the records (CLOCK_MONOTONIC)
  Section strings;              // of bytes
  Section string_index;         // of u32, a hash table of string ids; only writers need it
  Section tallies;              // of Tally
  Section ring;                 // of Record
  // Counters, changed while the process runs.
  std::uint64_t strings_used;  // bytes
  std::uint64_t ring_next;     // records ever written; the newest is at (ring_next - 1) % ring.count
  std::uint64_t peak_allocated_bytes;
  std::uint64_t peak_driver_bytes;
  std::uint64_t dropped_strings;
  std::uint64_t dropped_tallies;
  std::uint64_t facts[kFactSlots];     // key id << 32 | value id
  char command[kCommandBytes];         // the command line, NUL-terminated
  std::uint64_t peak_block_bytes;      // tensors and temporaries
  std::uint64_t largest_buffer_bytes;  // asked for at once
};

// A string is a u32 length and its bytes, at id * kStringAlignment from the start of the section. Id 0 is no string.
inline constexpr std::size_t kStringAlignment = 4;

// Exact however often the ring was overwritten. key: kind << 56 | name << 28 | site; 0 is an empty row.
struct Tally {
  std::uint64_t key;
  std::uint64_t count;
  std::uint64_t total;  // of b, as are max and first
  std::uint64_t max;
  std::uint64_t first;
  std::uint64_t first_ns;
  std::uint64_t last_ns;
  std::uint64_t reserved;
};
static_assert(sizeof(Tally) == 64);

inline constexpr std::uint32_t kIdBits = 28;
inline constexpr std::uint64_t kIdMask = (std::uint64_t{1} << kIdBits) - 1;

constexpr std::uint64_t tally_key(std::uint32_t kind, std::uint32_t name, std::uint32_t site) {
  return std::uint64_t{kind} << (2 * kIdBits) | std::uint64_t{name} << kIdBits | site;
}

struct Record {
  std::uint64_t sequence;  // its index in the order of writing + 1; 0 while it is being written
  std::uint64_t time_ns;
  std::uint64_t kind_and_thread;  // kind << 32 | thread
  std::uint64_t name_and_site;    // name << 32 | site
  std::uint64_t a;
  std::uint64_t b;
  std::uint64_t c;
  std::uint64_t check;  // record_check(), so that a record half-overwritten by another writer is seen
};
static_assert(sizeof(Record) == 64);

constexpr std::uint64_t record_check(const Record& r) {
  std::uint64_t check = 0x9e3779b97f4a7c15;
  for (const std::uint64_t word : {r.sequence, r.time_ns, r.kind_and_thread, r.name_and_site, r.a, r.b, r.c}) {
    check = (std::rotl(check, 23) ^ word) * 0x2545f4914f6cdd1d;
  }
  return check;
}

// Where this version puts its sections. Readers use the header's figures, not these.
inline constexpr Section kStrings{4096, 512 * 1024};
inline constexpr Section kStringIndex{kStrings.offset + kStrings.count, 8192};
inline constexpr Section kTallies{kStringIndex.offset + kStringIndex.count * sizeof(std::uint32_t), 4096};
inline constexpr Section kRing{kTallies.offset + kTallies.count * sizeof(Tally), 32768};  // its least count
// A ring of other lengths: ANYMPS_TRACE_EVENTS says how many records, up to this.
inline constexpr std::uint64_t kLongestRing = std::uint64_t{1} << 24;
constexpr std::size_t file_bytes(std::uint64_t ring_count) { return kRing.offset + ring_count * sizeof(Record); }

static_assert(sizeof(Header) <= kStrings.offset);
static_assert(kStrings.count / kStringAlignment <= kIdMask);

}  // namespace anymps::gpu::trace::trace_format
