#include "backend/observe/profile_log.h"

#include <ATen/record_function.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backend/runtime/argument_tensors.h"
#include "backend/runtime/device_queue.h"
#include "backend/runtime/memory.h"
#include "gpu/trace/trace.h"

namespace anymps::backend::observe {
namespace {

std::atomic<unsigned> wanted_lines{0};

bool wants(ProfileLog bit) noexcept {
  return (wanted_lines.load(std::memory_order_relaxed) & static_cast<unsigned>(bit)) != 0;
}

bool wants_either(ProfileLog line, ProfileLog table) noexcept {
  return wants(line) || wants(table) || wants(ProfileLog::kAllTables);
}

struct Row {
  std::uint64_t id = 0;  // from 1
  std::uint64_t runs = 0;
  std::uint64_t ns = 0;
  std::uint64_t bytes = 0;
};

// One of the three tables.
class Rows {
 public:
  Row add(const std::string& key, std::uint64_t ns, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    Row& row = rows_[key];
    if (row.id == 0) row.id = rows_.size();
    ++row.runs;
    row.ns += ns;
    row.bytes += bytes;
    return row;
  }

  // What took longest first.
  std::vector<std::pair<std::string, Row>> sorted() {
    const std::lock_guard lock(mutex_);
    std::vector<std::pair<std::string, Row>> rows(rows_.begin(), rows_.end());
    std::ranges::stable_sort(rows, [](const auto& a, const auto& b) { return a.second.ns > b.second.ns; });
    return rows;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Row> rows_;
};

struct Log {
  Rows operations;
  Rows copies;
  Rows fallbacks;
};

Log& log() {
  static auto* const only = new Log;  // threads may outlive the end of main
  return *only;
}

// The calls that this thread is in, outermost first. They live on its stack.
thread_local std::vector<const at::RecordFunction*> calls;

std::unique_ptr<at::ObserverContext> enter_operation(const at::RecordFunction& function) {
  if (!runtime::RouteScope::active()) calls.push_back(&function);
  return nullptr;
}

void leave_operation(const at::RecordFunction&, at::ObserverContext*) {
  if (!runtime::RouteScope::active() && !calls.empty()) calls.pop_back();
}

std::string text_of(const at::Tensor& tensor) {
  if (!tensor.defined()) return "undefined";
  return c10::str(c10::DeviceTypeName(tensor.device().type()), ":", tensor.scalar_type(), tensor.sizes());
}

// "add:MPS:Float[2, 3]:MPS:Float[3]", and how many bytes the tensors have.
template <typename Values>
std::pair<std::string, std::uint64_t> key_of(std::string_view name, const Values& values) {
  const std::size_t colons = name.rfind("::");
  std::string key(colons == std::string_view::npos ? name : name.substr(colons + 2));
  std::uint64_t bytes = 0;
  runtime::for_each_tensor(values, [&](const at::Tensor& tensor) {
    key += ":" + text_of(tensor);
    if (tensor.defined()) bytes += tensor.nbytes();
  });
  return {std::move(key), bytes};
}

std::string size_text(std::uint64_t bytes) {
  constexpr double kKiB = 1024;
  const auto value = static_cast<double>(bytes);
  char text[32];
  if (value < kKiB) {
    std::snprintf(text, sizeof(text), "%llu bytes", static_cast<unsigned long long>(bytes));
  } else if (value < kKiB * kKiB) {
    std::snprintf(text, sizeof(text), "%.2f KB", value / kKiB);
  } else if (value < kKiB * kKiB * kKiB) {
    std::snprintf(text, sizeof(text), "%.2f MB", value / (kKiB * kKiB));
  } else {
    std::snprintf(text, sizeof(text), "%.2f GB", value / (kKiB * kKiB * kKiB));
  }
  return text;
}

double milliseconds(std::uint64_t ns) { return static_cast<double>(ns) * 1e-6; }

std::string time_text(const char* whose, std::uint64_t ns) {
  if (!wants(ProfileLog::kTimes)) return {};
  char text[48];
  std::snprintf(text, sizeof(text), ", %s=%.3f ms", whose, milliseconds(ns));
  return text;
}

// In one write, so that lines of several threads stay apart.
void print(const std::string& line) { std::fwrite(line.data(), 1, line.size(), stderr); }

void print_table(const char* title, Rows& rows, const char* none) {
  const auto sorted = rows.sorted();
  if (sorted.empty()) return print(none);
  std::uint64_t runs = 0;
  std::uint64_t ns = 0;
  for (const auto& [key, row] : sorted) {
    runs += row.runs;
    ns += row.ns;
  }
  char line[160];
  std::snprintf(line, sizeof(line), "\n%s: %llu runs, %.3f ms\n%6s %8s %12s %12s %12s  name\n", title,
                static_cast<unsigned long long>(runs), milliseconds(ns), "id", "runs", "mean ms", "total ms", "size");
  std::string text = line;
  for (const auto& [key, row] : sorted) {
    std::snprintf(line, sizeof(line), "%6llu %8llu %12.3f %12.3f %12s  ", static_cast<unsigned long long>(row.id),
                  static_cast<unsigned long long>(row.runs), milliseconds(row.ns) / static_cast<double>(row.runs),
                  milliseconds(row.ns), size_text(row.bytes).c_str());
    text += line + key + "\n";
  }
  print(text);
}

}  // namespace

void begin_profile_log(unsigned bits) {
  if (bits == 0 || wanted_lines.exchange(bits) != 0) return;
  if (!wants_either(ProfileLog::kOperations, ProfileLog::kOperationTable)) return;
  at::addGlobalCallback(at::RecordFunctionCallback(&enter_operation, &leave_operation)
                            .needsInputs(true)
                            .scopes({at::RecordScope::FUNCTION}));
  runtime::DeviceQueue::take_no_operators();
  gpu::trace::Trace::begin_details();  // RouteScope measures the device's time from here on
}

void end_profile_log() {
  if (wants(ProfileLog::kOperationTable) || wants(ProfileLog::kAllTables)) {
    print_table("MPS Operations Profiling", log().operations, "There are no MPS operations logged for profiling\n");
  }
  if (wants(ProfileLog::kCopyTable) || wants(ProfileLog::kAllTables)) {
    print_table("MPS Copy Profiling", log().copies, "There are no copies logged for profiling\n");
  }
  if (wants(ProfileLog::kFallbackTable) || wants(ProfileLog::kAllTables)) {
    print_table("CPU Fallback Profiling", log().fallbacks, "There are no CPU Fallbacks logged for profiling\n");
  }
}

bool profile_logging() noexcept { return wanted_lines.load(std::memory_order_relaxed) != 0; }

void profile_operation(std::uint64_t ns) {
  if (calls.empty() || !wants_either(ProfileLog::kOperations, ProfileLog::kOperationTable)) return;
  const auto [key, bytes] = key_of(calls.back()->name(), calls.back()->inputs());
  const Row row = log().operations.add(key, ns, bytes);
  if (!wants(ProfileLog::kOperations)) return;
  print(c10::str("aten::", key, " (id=K", row.id, ", run=", row.runs, time_text("gpu", ns), ")\n"));
}

void profile_copy(const at::Tensor& target, const at::Tensor& source, bool non_blocking, std::uint64_t ns) {
  if (!wants_either(ProfileLog::kCopies, ProfileLog::kCopyTable)) return;
  const auto device = [](const at::Tensor& tensor) { return c10::DeviceTypeName(tensor.device().type()); };
  log().copies.add(device(source) + " to " + device(target), ns, source.nbytes());
  if (!wants(ProfileLog::kCopies)) return;
  print(c10::str("BlitCopy", non_blocking ? "" : "Sync", ": ", text_of(source), " --> ", text_of(target),
                 " (len=", size_text(source.nbytes()), time_text("gpu", ns), ")\n"));
}

void profile_fallback(std::string_view name, c10::ArrayRef<c10::IValue> arguments, std::uint64_t ns) {
  if (!wants_either(ProfileLog::kFallbacks, ProfileLog::kFallbackTable)) return;
  const auto [key, bytes] = key_of(name, arguments);
  const Row row = log().fallbacks.add(key, ns, bytes);
  if (!wants(ProfileLog::kFallbacks)) return;
  print(c10::str("CPU Fallback::", key, " (id=", row.id, ", run=", row.runs, ", CopyOverhead=", size_text(bytes),
                 time_text("cpu", ns), ")\n"));
}

}  // namespace anymps::backend::observe
