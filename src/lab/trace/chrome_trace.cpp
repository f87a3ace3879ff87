#include "lab/trace/chrome_trace.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <tuple>
#include <unordered_map>

#include "lab/base/json_text.h"
#include "lab/trace/replayed_timeline.h"

namespace anymps::lab::trace {
namespace {

namespace fs = std::filesystem;
using gpu::trace::TraceKind;

// Tracks are numbered as threads are, from 1 on; those that are no threads have numbers that no thread has.
constexpr std::uint32_t kDeviceTrack = 0;
constexpr std::uint32_t kFirstStepTrack = 1'000'000;
constexpr std::uint32_t kSecondDeviceTrack = 2'000'000;

constexpr std::size_t kFlushAt = std::size_t{1} << 20;

class Writer {
 public:
  explicit Writer(std::FILE* file) : file_(file) { put("{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"); }

  void name(const char* what, std::uint32_t process, std::uint32_t track, const std::string& name) {
    begin();
    put(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":{}}}}})", what, process, track, quoted(name));
  }
  void order(std::uint32_t process, std::uint32_t track, int index) {
    begin();
    put(R"({{"ph":"M","name":"thread_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}}}})", process, track,
        index);
  }
  void span(const char* category, const std::string& name, std::uint32_t process, std::uint32_t track,
            std::uint64_t start_ns, std::uint64_t length_ns, const std::string& arguments = {}) {
    begin();
    put(R"({{"ph":"X","cat":"{}","name":{},"pid":{},"tid":{},"ts":{},"dur":{}{}}})", category, quoted(name), process,
        track, microseconds(start_ns), microseconds(length_ns), arguments);
  }
  void instant(const char* category, const std::string& name, std::uint32_t process, std::uint32_t track,
               std::uint64_t time_ns, const std::string& arguments) {
    begin();
    put(R"({{"ph":"i","s":"t","cat":"{}","name":{},"pid":{},"tid":{},"ts":{}{}}})", category, quoted(name), process,
        track, microseconds(time_ns), arguments);
  }

  // 0, or what went wrong.
  int finish(const nlohmann::json& other_data) {
    put("\n],\"otherData\":{}}}\n", base::json_line(other_data));
    flush();
    if (std::fflush(file_) != 0 && error_ == 0) error_ = errno;
    return error_;
  }

  const std::string& quoted(const std::string& text) {
    auto [found, fresh] = quoted_.try_emplace(text);
    if (fresh) {
      found->second = base::json_line(text);
    }
    return found->second;
  }

 private:
  template <typename... Values>
  void put(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Values>(values)...);
    if (buffer_.size() > kFlushAt) flush();
  }
  void begin() {
    if (!first_) put(",\n");
    first_ = false;
  }
  void flush() {
    if (error_ == 0 && std::fwrite(buffer_.data(), 1, buffer_.size(), file_) != buffer_.size()) error_ = errno;
    buffer_.clear();
  }
  static std::string microseconds(std::uint64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

  std::FILE* file_;
  bool first_ = true;
  int error_ = 0;
  fmt::memory_buffer buffer_;
  std::unordered_map<std::string, std::string> quoted_;
};

std::string at_site(Writer& writer, const TraceRecord& record) {
  return record.site.empty() ? "" : fmt::format(R"(,"args":{{"at":{}}})", writer.quoted(record.site));
}

// The spans of one process. Readers want those of a track to lie within one another or apart.
class ProcessWriter {
 public:
  ProcessWriter(Writer& writer, const TraceFile& trace, std::uint64_t zero)
      : writer_(writer), trace_(trace), zero_(zero) {}

  void write() {
    writer_.name("process_name", trace_.pid, kDeviceTrack, trace_.command);
    device_track(0, 0);  // there also where nothing ran on it
    for (const TraceRecord& record : trace_.records) write(record);
  }

 private:
  void write(const TraceRecord& record) {
    const std::uint64_t end = record.time_ns - std::min(record.time_ns, zero_);
    const std::uint64_t start = end - std::min(end, record.b);
    switch (record.kind) {
      case TraceKind::kCall:
        return writer_.span("cpu_op", record.name, trace_.pid, thread_track(record), start, end - start);
      case TraceKind::kOperator:
        return writer_.span("kernel", record.name, trace_.pid, device_track(start, end), start, end - start);
      case TraceKind::kShader:
        return writer_.span("kernel", record.name, trace_.pid, device_track(start, end), start, end - start,
                            fmt::format(R"(,"args":{{"threads":{}}})", record.a));
      case TraceKind::kStep:
      case TraceKind::kEpoch:
        return write_step(record, start, end);
      case TraceKind::kSync:
        return writer_.span("wait", record.name, trace_.pid, thread_track(record), start, end - start,
                            at_site(writer_, record));
      case TraceKind::kFallback:
        return write_instant("fallback", record.name, record, end);
      case TraceKind::kFloat64:
        return write_instant("float64", record.name, record, end);
      case TraceKind::kMark:
      case TraceKind::kError:
      case TraceKind::kOutOfMemory:
        return write_instant("mark", record.name.empty() ? "out of memory" : record.name, record, end);
      case TraceKind::kBufferTooLarge:
        return write_instant("mark", "buffer too large", record, end);
      case TraceKind::kMemoryPeak:
      case TraceKind::kAlloc:
      case TraceKind::kFree:
      case TraceKind::kHeapAlloc:
      case TraceKind::kHeapFree:
      case TraceKind::kFinding:
      case TraceKind::kWork:
        return;
    }
  }

  void write_instant(const char* category, const std::string& name, const TraceRecord& record, std::uint64_t time) {
    writer_.instant(category, name, trace_.pid, thread_track(record), time, at_site(writer_, record));
  }

  std::uint32_t thread_track(const TraceRecord& record) {
    if (threads_.insert(record.thread).second) {
      writer_.name("thread_name", trace_.pid, record.thread, fmt::format("thread {}", record.thread));
    }
    return record.thread;
  }

  // One, unless kernels of several threads ran at once: the first that is free then. Records come in the order of
  // their ends.
  std::uint32_t device_track(std::uint64_t start, std::uint64_t end) {
    const auto free = std::ranges::find_if(device_free_, [&](std::uint64_t until) { return until <= start; });
    const auto index = static_cast<std::uint32_t>(free - device_free_.begin());
    const std::uint32_t track = index == 0 ? kDeviceTrack : kSecondDeviceTrack + index - 1;
    if (free == device_free_.end()) {
      device_free_.push_back(end);
      writer_.name("thread_name", trace_.pid, track, index == 0 ? "mps" : fmt::format("mps {}", index + 1));
      writer_.order(trace_.pid, track, -1);
    } else {
      *free = end;
    }
    return track;
  }

  struct StepTrack {
    std::uint32_t number;
    std::uint64_t until;
  };

  // Each loop has its own: the steps of two optimisers overlap, and those of an epoch cross its end.
  void write_step(const TraceRecord& record, std::uint64_t start, std::uint64_t end) {
    const auto [found, fresh] = steps_.try_emplace({record.kind, record.name, record.site, record.thread});
    StepTrack& track = found->second;
    if (fresh) {
      track = {kFirstStepTrack + static_cast<std::uint32_t>(steps_.size()) - 1, 0};
      writer_.name("thread_name", trace_.pid, track.number,
                   record.site.empty() ? record.name : fmt::format("{} at {}", record.name, record.site));
    }
    // A step is written down a moment after it was timed, one of them later than another.
    start = std::min(std::max(start, track.until), end);
    track.until = end;
    writer_.span("step", fmt::format("{} {}", record.name, record.a), trace_.pid, track.number, start, end - start,
                 at_site(writer_, record));
  }

  Writer& writer_;
  const TraceFile& trace_;
  const std::uint64_t zero_;
  std::set<std::uint32_t> threads_;
  std::vector<std::uint64_t> device_free_;  // of each track: when its latest kernel ended
  std::map<std::tuple<TraceKind, std::string, std::string, std::uint32_t>, StepTrack> steps_;
};

// What readers of the file need not compute: the figures of the model, a list of processes.
nlohmann::json figures_of(const std::vector<TraceFile>& traces) {
  auto processes = nlohmann::json::array();
  for (const TraceFile& trace : traces) {
    if (!trace.error.empty()) continue;
    const ReplayedTimeline timeline = replay(trace);
    processes.push_back({{"pid", trace.pid}, {timeline.name(), to_json(timeline)}});
  }
  return {{"processes", std::move(processes)}};
}

}  // namespace

std::string write_chrome_trace(const std::vector<TraceFile>& traces, const fs::path& path) {
  // A device or a pipe is written to as it is, and a link stays one.
  std::error_code none;
  const bool is_device = fs::exists(path, none) && !fs::is_regular_file(path, none);
  const fs::path behind_links = fs::canonical(path, none);
  const fs::path target = none ? path : behind_links;
  const fs::path draft = is_device ? path : fs::path(fmt::format("{}.part-{}", target.string(), ::getpid()));
  const auto failed = [&](int error) {
    std::error_code ignored;
    if (!is_device) fs::remove(draft, ignored);
    return fmt::format("cannot write {}: {}", path.string(), std::strerror(error));
  };
  std::FILE* file = std::fopen(draft.c_str(), "wb");
  if (file == nullptr) return failed(errno);
  // One clock for all processes of a machine: what began first is zero.
  std::uint64_t zero = UINT64_MAX;
  for (const TraceFile& trace : traces) {
    if (trace.error.empty()) zero = std::min(zero, trace.start_ns);
  }
  Writer writer(file);
  for (const TraceFile& trace : traces) {
    if (trace.error.empty()) ProcessWriter(writer, trace, zero).write();
  }
  int error = writer.finish(figures_of(traces));
  // Before it has its name, it is on the disk.
  if (error == 0 && !is_device && ::fsync(::fileno(file)) != 0) error = errno;
  if (std::fclose(file) != 0 && error == 0) error = errno;
  if (error == 0 && !is_device && std::rename(draft.c_str(), target.c_str()) != 0) error = errno;
  return error != 0 ? failed(error) : "";
}

}  // namespace anymps::lab::trace
