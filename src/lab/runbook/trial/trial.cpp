#include "lab/runbook/trial/trial.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "lab/host/child.h"
#include "lab/host/platform.h"
#include "lab/runbook/trial/session.h"
#include "lab/trace/run_summary.h"

namespace anymps::lab::runbook::trial {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using nlohmann::json;

constexpr auto kWatchInterval = std::chrono::milliseconds(250);
constexpr double kBusyHang = 10;     // times as patient with a child that computes
constexpr double kIdleShare = 0.05;  // of one core
constexpr std::streamoff kTail = 8192;
// The trace of a long window must still be there at its end.
constexpr const char* kEvents = "131072";
constexpr int kErrorLines = 5;

double cpu_seconds_of_children() {
  double total = 0;
  for (const host::ProcessUse& use : host::Platform::here().descendants(::getpid())) total += use.cpu_seconds;
  return total;
}

// Looks at a running child from outside: how far it is, and whether it still moves.
class Watcher {
 public:
  Watcher(fs::path folder, double hang_seconds, const TrialProgress& progress)
      : folder_(std::move(folder)), hang_seconds_(hang_seconds), progress_(progress) {}

  bool hung() const { return hung_; }

  bool operator()(pid_t) {
    const auto now = Clock::now();
    if (now - looked_ < kWatchInterval) return false;
    looked_ = now;
    const std::uintmax_t size = recorded_bytes();
    if (size != size_) {
      if (progress_) progress_(lines_of_main());
      size_ = size;
      moved_ = now;
      cpu_at_move_ = cpu_seconds_of_children();
      return false;
    }
    const double silent = std::chrono::duration<double>(now - moved_).count();
    if (silent < hang_seconds_) return false;
    const double busy = (cpu_seconds_of_children() - cpu_at_move_) / silent;
    hung_ = busy < kIdleShare || silent > kBusyHang * hang_seconds_;
    if (hung_) ask_for_stacks();
    return hung_;
  }

 private:
  std::uintmax_t recorded_bytes() {
    std::uintmax_t total = 0;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_, error)) {
      if (entry.path().extension() == ".jsonl") total += entry.file_size(error);
    }
    return total;
  }

  // Steps and rounds, of the process that has the most.
  std::uint64_t lines_of_main() {
    std::uint64_t most = 0;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_, error)) {
      if (entry.path().extension() != ".jsonl") continue;
      Counted& counted = counted_[entry.path().string()];
      std::ifstream file(entry.path());
      file.seekg(counted.offset);
      for (std::string line; std::getline(file, line) && !file.eof();) {
        counted.offset += static_cast<std::streamoff>(line.size()) + 1;
        const std::string_view start = std::string_view(line).substr(0, 16);
        for (const char* kind : {"\"step\"", "\"load\"", "\"forward\""}) {
          if (start.find(kind) != std::string_view::npos) ++counted.count;
        }
      }
      most = std::max(most, counted.count);
    }
    return most;
  }

  void ask_for_stacks() {
    for (const host::ProcessUse& use : host::Platform::here().descendants(::getpid())) {
      // Whoever has no recorder would be ended by the signal: it is about to be, all the same.
      if (fs::exists(folder_ / fmt::format("{}.stacks", use.pid))) ::kill(use.pid, SIGUSR1);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }

  struct Counted {
    std::streamoff offset = 0;
    std::uint64_t count = 0;
  };

  fs::path folder_;
  double hang_seconds_;
  const TrialProgress& progress_;
  Clock::time_point looked_{};
  Clock::time_point moved_ = Clock::now();
  std::uintmax_t size_ = 0;
  double cpu_at_move_ = 0;
  bool hung_ = false;
  std::map<std::string, Counted> counted_;
};

std::string tail_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return {};
  const std::streamoff size = file.tellg();
  file.seekg(std::max<std::streamoff>(0, size - kTail));
  std::string text(static_cast<std::size_t>(std::min(size, kTail)), '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  return text;
}

std::string last_lines_of(const std::string& text, int lines) {
  const std::size_t last = text.find_last_not_of(" \r\n");
  if (last == std::string::npos) return {};
  std::size_t begin = last + 1;
  for (int line = 0; line < lines && begin > 0; ++line) {
    const std::size_t before = begin > 1 ? text.find_last_of('\n', begin - 2) : std::string::npos;
    begin = before == std::string::npos ? 0 : before + 1;
  }
  return text.substr(begin, last + 1 - begin);
}

bool ran_out_of_memory(const Trial& trial) {
  const auto counts = [](const trace::TraceTally& tally) {
    return tally.kind == gpu::trace::TraceKind::kOutOfMemory || tally.kind == gpu::trace::TraceKind::kBufferTooLarge;
  };
  const bool traced = std::ranges::any_of(
      trial.traces, [&](const trace::TraceFile& trace) { return std::ranges::any_of(trace.tallies, counts); });
  return traced || trial.output.find("out of memory") != std::string::npos ||
         trial.output.find("Invalid buffer size") != std::string::npos ||
         trial.output.find("can't allocate memory") != std::string::npos;
}

void judge_outcome(const host::ChildResult& result, bool hung, Trial& trial) {
  trial.status = result.status();
  if (hung) {
    trial.outcome = document::Outcome::kHung;
    trial.why = "it recorded nothing and computed nothing for too long, and was ended";
  } else if (result.status() == 0) {
    trial.outcome = document::Outcome::kRan;
  } else if (ran_out_of_memory(trial)) {
    trial.outcome = document::Outcome::kOutOfMemory;
    trial.why = last_lines_of(trial.output, 1);
  } else if (result.signal != 0) {
    trial.outcome = document::Outcome::kKilled;
    trial.why = fmt::format("ended by {}{}", trace::signal_name(result.signal),
                            result.signal == SIGKILL ? "; a system that is out of memory does that" : "");
  } else {
    trial.outcome = document::Outcome::kCrashed;
    trial.why = last_lines_of(trial.output, 1);
    if (trial.why.empty()) trial.why = fmt::format("it ended with status {}", result.status());
  }
}

}  // namespace

std::string error_lines(const std::string& output) { return last_lines_of(output, kErrorLines); }

std::uint64_t Trial::peak_bytes() const {
  std::uint64_t peak = 0;
  for (const trace::TraceFile& trace : traces) peak = std::max(peak, trace.peak_block_bytes);
  if (peak > 0) return peak;
  for (const RecordedProcess& process : recording.processes) {
    for (const RecordedStep& step : process.steps) peak = std::max(peak, step.driver_bytes);
  }
  return peak > 0 ? peak : resident.bytes;
}

std::optional<document::Failure> Trial::failure() const {
  if (outcome == document::Outcome::kRan) return std::nullopt;
  document::Failure failure{.outcome = outcome, .why = why, .status = status, .stacks = {}, .output = output};
  for (const RecordedProcess& process : recording.processes) {
    if (!process.stacks.empty()) {
      failure.stacks.push_back({process.pid, process.is_main ? "script" : "worker", process.stacks});
    }
  }
  return failure;
}

Trial run_trial(const TrialSettings& settings, const json& spec, const TrialProgress& progress) {
  Trial trial;
  trial.folder = std::make_shared<host::RunFolder>(host::RunFolder::temporary());
  const fs::path recording = trial.folder->make_part("lab");
  const fs::path traces = trial.folder->make_part("traces");
  const fs::path output = trial.folder->path() / "output.txt";
  host::ChildCommand command{settings.command, settings.environment};
  command.environment["ANYMPS_LAB"] = recording;
  command.environment["ANYMPS_LAB_SPEC"] = spec.dump();
  command.environment["ANYMPS_LAB_PARENT"] = std::to_string(::getpid());
  command.environment["ANYMPS_RUN"] = traces;
  command.environment["ANYMPS_TRACE_EVENTS"] = kEvents;
  command.environment["PYTHONUNBUFFERED"] = "1";

  Watcher watcher(recording, settings.hang_seconds, progress);
  host::ResidentSetWatch memory;
  const host::ChildResult result = host::run_child_watched(command, output, std::ref(watcher));
  trial.resident = memory.peak();
  if (!result.start_error.empty()) {
    throw std::runtime_error(fmt::format("cannot start {}: {}", command.words.front(), result.start_error));
  }
  trial.seconds = result.seconds;
  trial.output = tail_of(output);
  if (settings.show_output) std::fwrite(trial.output.data(), 1, trial.output.size(), stderr);
  if (result.interrupted) throw host::Interrupted();
  trial.recording = read_recording(recording);
  trial.traces = trace::read_run(traces);
  judge_outcome(result, watcher.hung(), trial);
  return trial;
}

}  // namespace anymps::lab::runbook::trial
