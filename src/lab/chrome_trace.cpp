#include "lab/chrome_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <unordered_map>

namespace anymps::lab {
namespace {

namespace fs = std::filesystem;
using gpu::TraceKind;

// Tracks that are no threads come first and last.
constexpr std::uint32_t kDeviceTrack = 0;
constexpr std::uint32_t kStepTrack = 1'000'000;

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
  int finish() {
    put("\n]}}\n");
    flush();
    if (std::fflush(file_) != 0 && error_ == 0) error_ = errno;
    return error_;
  }

  const std::string& quoted(const std::string& text) {
    auto [found, fresh] = quoted_.try_emplace(text);
    if (fresh) {
      found->second = nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
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

void write_record(Writer& writer, std::uint32_t process, const TraceRecord& record, std::uint64_t zero) {
  const std::uint64_t end = record.time_ns - std::min(record.time_ns, zero);
  const std::uint64_t start = end - std::min(end, record.b);
  switch (record.kind) {
    case TraceKind::kCall:
      return writer.span("cpu_op", record.name, process, record.thread, start, end - start);
    case TraceKind::kOperator:
      return writer.span("kernel", record.name, process, kDeviceTrack, start, end - start);
    case TraceKind::kShader:
      return writer.span("kernel", record.name, process, kDeviceTrack, start, end - start,
                         fmt::format(R"(,"args":{{"threads":{}}})", record.a));
    case TraceKind::kStep:
    case TraceKind::kEpoch:
      return writer.span("step", fmt::format("{} {}", record.name, record.a), process, kStepTrack, start, end - start,
                         at_site(writer, record));
    case TraceKind::kSync:
      return writer.span("wait", record.name, process, record.thread, start, end - start, at_site(writer, record));
    case TraceKind::kFallback:
      return writer.instant("fallback", record.name, process, record.thread, end, at_site(writer, record));
    case TraceKind::kFloat64:
      return writer.instant("float64", record.name, process, record.thread, end, at_site(writer, record));
    case TraceKind::kMark:
    case TraceKind::kError:
    case TraceKind::kOutOfMemory:
      return writer.instant("mark", record.name.empty() ? "out of memory" : record.name, process, record.thread, end,
                            at_site(writer, record));
    case TraceKind::kMemoryPeak:
    case TraceKind::kAlloc:
    case TraceKind::kFree:
    case TraceKind::kHeapAlloc:
    case TraceKind::kHeapFree:
      return;
  }
}

void write_process(Writer& writer, const TraceFile& trace, std::uint64_t zero) {
  writer.name("process_name", trace.pid, kDeviceTrack, trace.command);
  std::set<std::uint32_t> threads;
  for (const TraceRecord& record : trace.records) threads.insert(record.thread);
  writer.name("thread_name", trace.pid, kDeviceTrack, "mps");
  writer.order(trace.pid, kDeviceTrack, -1);
  writer.name("thread_name", trace.pid, kStepTrack, "steps");
  for (const std::uint32_t thread : threads) {
    writer.name("thread_name", trace.pid, thread, fmt::format("thread {}", thread));
  }
  for (const TraceRecord& record : trace.records) write_record(writer, trace.pid, record, zero);
}

}  // namespace

std::string write_chrome_trace(const std::vector<TraceFile>& traces, const fs::path& path) {
  const fs::path draft = path.string() + ".part";
  const auto failed = [&](int error) {
    std::error_code ignored;
    fs::remove(draft, ignored);
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
    if (trace.error.empty()) write_process(writer, trace, zero);
  }
  int error = writer.finish();
  if (std::fclose(file) != 0 && error == 0) error = errno;
  if (error == 0 && std::rename(draft.c_str(), path.c_str()) != 0) error = errno;
  return error != 0 ? failed(error) : "";
}

}  // namespace anymps::lab
