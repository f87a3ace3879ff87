// Reads the trace files of a run. Trusts nothing in them: a file may be torn, cut short, or not a trace at all, and its
// writer may still be running. What can be read is returned.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "gpu/trace/trace.h"

namespace anymps::lab::trace {

struct TraceTally {
  gpu::trace::TraceKind kind{};
  std::string name;
  std::string site;
  std::uint64_t count = 0;
  std::uint64_t total = 0;
  std::uint64_t max = 0;
  std::uint64_t first = 0;
  std::uint64_t first_ns = 0;
  std::uint64_t last_ns = 0;
};

struct TraceRecord {
  std::uint64_t index = 0;  // in the order of writing
  std::uint64_t time_ns = 0;
  gpu::trace::TraceKind kind{};
  std::uint32_t thread = 0;
  std::string name;
  std::string site;
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::uint64_t c = 0;
};

struct TraceFile {
  std::string error;    // why nothing could be read; then nothing else is set
  bool failed = false;  // that was the disk's doing, and says nothing of the trace
  bool truncated = false;
  std::uint32_t pid = 0;
  std::uint32_t parent_pid = 0;
  std::uint64_t start_wall_ns = 0;
  std::uint64_t start_ns = 0;
  std::string command;
  std::uint64_t peak_allocated_bytes = 0;
  std::uint64_t peak_block_bytes = 0;  // tensors and temporaries
  std::uint64_t peak_driver_bytes = 0;
  std::uint64_t largest_buffer_bytes = 0;  // asked for at once
  std::uint64_t dropped_strings = 0;
  std::uint64_t dropped_tallies = 0;
  std::uint64_t records_written = 0;  // of which the ring still holds records.size()
  std::map<std::string, std::string> facts;
  std::vector<TraceTally> tallies;
  std::vector<TraceRecord> records;  // oldest first
};

// At most, in tensors and temporaries. Blocks count what was asked for and tensors what was given, which is rounded up.
inline std::uint64_t peak_block_of(const TraceFile& trace) {
  return std::max(trace.peak_block_bytes, trace.peak_allocated_bytes);
}

TraceFile read_trace(const std::filesystem::path& path);

// All traces in a run folder, in the order in which their processes started; damaged ones included, with their error.
// Throws std::runtime_error where the disk fails: figures without a process that was there would be wrong.
std::vector<TraceFile> read_run(const std::filesystem::path& folder);

}  // namespace anymps::lab::trace
