#include "lab/trace/reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "gpu/trace/trace_format.h"
#include "lab/base/safe_text.h"

namespace anymps::lab::trace {
namespace fs = std::filesystem;
namespace {

namespace trace_format = gpu::trace::trace_format;

class TraceBytes {
 public:
  explicit TraceBytes(std::string bytes) : bytes_(std::move(bytes)) {}

  std::size_t size() const { return bytes_.size(); }

  // Zeros past the end, so that a file cut inside an entry reads as one that was never written.
  template <typename T>
  T at(std::uint64_t offset) const {
    T value{};
    if (offset < bytes_.size()) {
      std::memcpy(&value, bytes_.data() + offset, std::min<std::uint64_t>(sizeof(T), bytes_.size() - offset));
    }
    return value;
  }

  // How many whole entries of a section are in the file.
  std::uint64_t entries(const trace_format::Section& section, std::size_t entry_bytes) const {
    if (section.offset >= bytes_.size()) return 0;
    return std::min<std::uint64_t>(section.count, (bytes_.size() - section.offset) / entry_bytes);
  }

  std::string string(const trace_format::Section& strings, std::uint64_t id) const {
    const std::uint64_t room = entries(strings, 1);
    const std::uint64_t at_byte = id * trace_format::kStringAlignment;
    if (id == 0 || id > trace_format::kIdMask || at_byte + sizeof(std::uint32_t) > room) return {};
    const auto length = at<std::uint32_t>(strings.offset + at_byte);
    const std::uint64_t begin = at_byte + sizeof length;
    if (length > trace_format::kLongestString || length > room - begin) return {};
    return base::on_one_line(std::string_view(bytes_).substr(strings.offset + begin, length));
  }

 private:
  std::string bytes_;
};

void read_facts(const TraceBytes& bytes, const trace_format::Header& header, TraceFile& into) {
  for (const std::uint64_t fact : header.facts) {
    std::string key = bytes.string(header.strings, fact >> 32);
    if (!key.empty()) into.facts[std::move(key)] = bytes.string(header.strings, fact & 0xffff'ffff);
  }
}

void read_tallies(const TraceBytes& bytes, const trace_format::Header& header, TraceFile& into) {
  const std::uint64_t rows = bytes.entries(header.tallies, sizeof(trace_format::Tally));
  for (std::uint64_t i = 0; i < rows; ++i) {
    const auto row = bytes.at<trace_format::Tally>(header.tallies.offset + i * sizeof(trace_format::Tally));
    if (row.key == 0 || row.count == 0) continue;
    into.tallies.push_back({static_cast<gpu::trace::TraceKind>(row.key >> (2 * trace_format::kIdBits)),
                            bytes.string(header.strings, row.key >> trace_format::kIdBits & trace_format::kIdMask),
                            bytes.string(header.strings, row.key & trace_format::kIdMask), row.count, row.total,
                            row.max, row.first, row.first_ns, row.last_ns});
  }
}

void read_ring(const TraceBytes& bytes, const trace_format::Header& header, TraceFile& into) {
  const std::uint64_t slots = bytes.entries(header.ring, sizeof(trace_format::Record));
  into.records.reserve(std::min(slots, header.ring_next));  // a million of them should not be in memory twice
  for (std::uint64_t i = 0; i < slots; ++i) {
    const auto record = bytes.at<trace_format::Record>(header.ring.offset + i * sizeof(trace_format::Record));
    if (record.sequence == 0 || (record.sequence - 1) % header.ring.count != i ||
        record.check != trace_format::record_check(record)) {
      continue;
    }
    into.records.push_back(
        {record.sequence - 1, record.time_ns, static_cast<gpu::trace::TraceKind>(record.kind_and_thread >> 32),
         static_cast<std::uint32_t>(record.kind_and_thread), bytes.string(header.strings, record.name_and_site >> 32),
         bytes.string(header.strings, record.name_and_site & 0xffff'ffff), record.a, record.b, record.c});
  }
  std::ranges::sort(into.records, {}, &TraceRecord::index);
}

bool is_trace_name(std::string_view name) {
  return name.starts_with(trace_format::kFilePrefix) && name.ends_with(trace_format::kFileSuffix);
}

}  // namespace

TraceFile read_trace(const fs::path& path) {
  TraceFile trace;
  const auto failed = [&](int why) {
    trace.failed = true;
    trace.error = "cannot read " + path.string() + ": " + std::strerror(why != 0 ? why : EIO);
    return trace;
  };
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return failed(errno);
  // No file of ours is larger; a sparse giant must not be read into memory.
  std::error_code unknown;
  const std::uintmax_t size = fs::file_size(path, unknown);
  if (unknown) return failed(unknown.value());
  std::string content(std::min<std::uintmax_t>(size, trace_format::file_bytes(trace_format::kLongestRing)), '\0');
  errno = 0;
  file.read(content.data(), static_cast<std::streamsize>(content.size()));
  if (file.bad()) return failed(errno);
  content.resize(static_cast<std::size_t>(file.gcount()));
  const TraceBytes bytes(std::move(content));
  const auto header = bytes.at<trace_format::Header>(0);
  if (header.magic != trace_format::kMagic) {
    trace.error = path.string() + " is not a trace, or was never finished";
    return trace;
  }
  if (header.version != trace_format::kVersion) {
    trace.error = path.string() + " has trace version " + std::to_string(header.version) + "; this anymps reads " +
                  std::to_string(trace_format::kVersion);
    return trace;
  }
  trace.truncated = bytes.entries(header.strings, 1) < header.strings.count ||
                    bytes.entries(header.tallies, sizeof(trace_format::Tally)) < header.tallies.count ||
                    bytes.entries(header.ring, sizeof(trace_format::Record)) < header.ring.count;
  trace.pid = header.pid;
  trace.parent_pid = header.parent_pid;
  trace.start_wall_ns = header.start_wall_ns;
  trace.start_ns = header.start_ns;
  trace.command =
      base::on_one_line(std::string_view(header.command, strnlen(header.command, trace_format::kCommandBytes)));
  trace.peak_allocated_bytes = header.peak_allocated_bytes;
  trace.peak_block_bytes = header.peak_block_bytes;
  trace.largest_buffer_bytes = header.largest_buffer_bytes;
  trace.peak_driver_bytes = header.peak_driver_bytes;
  trace.dropped_strings = header.dropped_strings;
  trace.dropped_tallies = header.dropped_tallies;
  trace.records_written = header.ring_next;
  read_facts(bytes, header, trace);
  read_tallies(bytes, header, trace);
  read_ring(bytes, header, trace);
  return trace;
}

std::vector<TraceFile> read_run(const fs::path& folder) {
  std::vector<TraceFile> traces;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (!is_trace_name(entry->path().filename().string())) continue;
    traces.push_back(read_trace(entry->path()));
    if (traces.back().failed) throw std::runtime_error(traces.back().error);
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    throw std::runtime_error("cannot read " + folder.string() + ": " + error.message());
  }
  std::ranges::sort(traces, {}, &TraceFile::start_wall_ns);
  return traces;
}

}  // namespace anymps::lab::trace
