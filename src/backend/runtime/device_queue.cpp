#include "backend/runtime/device_queue.h"

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>
#include <pthread.h>

#include <array>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "backend/runtime/device_errors.h"
#include "backend/runtime/mps_log.h"
#include "backend/runtime/waits.h"
#include "gpu/device.h"
#include "gpu/queue/device_threads.h"
#include "gpu/support/environment.h"
#include "gpu/trace/trace.h"

// The OpenMP library is the one that PyTorch's own libraries bring, under a name that differs between its builds: see
// executor.cpp.
extern "C" void omp_set_num_threads(int) __attribute__((weak));

namespace anymps::backend::runtime {
namespace {

// A buffer goes to the device when it has this much to do. Handing it over wakes a thread, which is worth it for no
// less; a host that waits before runs it itself.
constexpr std::size_t kCommandsPerBuffer = 16;
constexpr std::size_t kBytesPerBuffer = std::size_t{1} << 20;
// How far the host may be ahead of the device: blocks of memory are not used again before the device has got there.
constexpr std::size_t kMostInFlight = 512;

// The device does nothing before the host waits for it, so that what the host reads or changes too early goes wrong.
bool is_adverse() {
  static const bool asked = [] {
    const std::string_view text = gpu::support::environment_variable("ANYMPS_RACES");
    TORCH_CHECK(text.empty() || text == "adverse", "ANYMPS_RACES is ", text, ": it is adverse, or not set");
    return !text.empty();
  }();
  return asked;
}

bool is_asked_for() {
  const std::string_view text = gpu::support::environment_variable("ANYMPS_QUEUE");
  TORCH_CHECK(text.empty() || text == "inline" || text == "async", "ANYMPS_QUEUE is ", text, ": it is inline or async");
  return is_adverse() || text == "async";
}

// How many threads a command may use: as many as where the host calls it, because the order of sums depends on it.
std::atomic<int> threads_of_host{1};

thread_local bool runs_a_command = false;
thread_local int device_thread_has = 0;

const std::string kNoLine;

// By stream; made when the stream is first given work.
std::array<std::atomic<DeviceQueue*>, gpu::kPoolStreams + 1> queues{};

}  // namespace

std::atomic<std::size_t> DeviceQueue::in_flight_{0};
std::atomic<unsigned> DeviceQueue::watchers_{0};
std::atomic<std::uint64_t> DeviceQueue::encoded_{0};

bool DeviceQueue::takes_operators() {
  static const bool asked = is_asked_for();
  return asked && !is_synchronous() && !runs_a_command && watchers_.load(std::memory_order_relaxed) == 0 &&
         !logs(LogLevel::kFallbacks);
}

void DeviceQueue::take_no_operators() {
  watchers_.fetch_add(1, std::memory_order_relaxed);
  // What was queued before is not watched.
  drain();
}

void DeviceQueue::take_operators() { watchers_.fetch_sub(1, std::memory_order_relaxed); }

DeviceQueue& DeviceQueue::of(gpu::StreamId stream) {
  std::atomic<DeviceQueue*>& place = queues[static_cast<std::size_t>(stream)];
  if (DeviceQueue* const made = place.load(std::memory_order_acquire)) return *made;
  // Never destroyed: tensors are freed while static objects are being torn down.
  static std::mutex making;
  const std::lock_guard lock(making);
  if (place.load(std::memory_order_relaxed) == nullptr) {
    place.store(new DeviceQueue, std::memory_order_release);
    if (auto* trace = gpu::trace::Trace::current()) trace->set_fact("queue", "async");
    // Behind the handlers of the first queue itself, so that it runs before them: a child finds nothing in flight.
    static const bool registered = [] {
      ::pthread_atfork([] { drain(); }, nullptr, nullptr);
      std::atexit([] { drain(); });
      return true;
    }();
    static_cast<void>(registered);
  }
  return *place.load(std::memory_order_relaxed);
}

std::uint64_t DeviceQueue::encoded() noexcept { return encoded_.load(std::memory_order_relaxed); }

gpu::queue::CommandEncoder& DeviceQueue::encoder() {
  if (!encoder_) {
    open_ = queue_.make_command_buffer();
    open_->enqueue();
    encoder_.emplace(open_->make_encoder());
  }
  return *encoder_;
}

void DeviceQueue::encoded_one(std::size_t bytes) {
  in_flight_.fetch_add(1, std::memory_order_relaxed);
  encoded_.fetch_add(1, std::memory_order_relaxed);
  DeviceWork::given();
  ++commands_;
  bytes_ += bytes;
}

void DeviceQueue::close_chain() {
  if (!chain_) return;
  const std::size_t operators = chain_->operators();
  add_command(operators, [chain = std::move(chain_)] { chain->run(); });
}

void DeviceQueue::commit_if_full() {
  const bool is_far_ahead = in_flight_.load(std::memory_order_relaxed) > kMostInFlight;
  const bool has_enough = !is_adverse() && (commands_ >= kCommandsPerBuffer || bytes_ >= kBytesPerBuffer);
  if (is_far_ahead || has_enough) commit();
  if (is_far_ahead) queue_.run_until_idle();
}

void DeviceQueue::commit() {
  close_chain();
  if (!open_) return;
  encoder_.reset();
  threads_of_host.store(at::get_num_threads(), std::memory_order_relaxed);
  std::exchange(open_, nullptr)->commit();
  commands_ = 0;
  bytes_ = 0;
}

void DeviceQueue::flush() {
  if (is_adverse()) return;
  DeviceQueue& queue = of_current_stream();
  const std::lock_guard lock(queue.mutex_);
  queue.commit();
}

void DeviceQueue::let_run() {
  if (is_adverse()) drain();
}

void DeviceQueue::drain_all() {
  if (runs_a_command) return;
  for (const auto& place : queues) {
    if (DeviceQueue* const queue = place.load(std::memory_order_acquire)) queue->run_all();
  }
}

void DeviceQueue::drain(gpu::StreamId stream) {
  if (!is_idle() && !runs_a_command) of(stream).run_all();
}

void DeviceQueue::run_all() {
  const std::uint64_t began_ns = gpu::trace::Trace::detailed() ? gpu::trace::Trace::now_ns() : 0;
  {
    const std::lock_guard lock(mutex_);
    commit();
  }
  queue_.run_until_idle();
  if (began_ns != 0) DeviceWork::took(gpu::trace::Trace::now_ns() - began_ns);
}

void DeviceQueue::report(const std::exception_ptr& error) noexcept {
  try {
    std::rethrow_exception(error);
  } catch (const c10::Error& caught) {
    gpu::report_device_error({caught.what_without_backtrace(), "", __FILE__, __LINE__, call_site()});
  } catch (const std::exception& caught) {
    gpu::report_device_error({caught.what(), "", __FILE__, __LINE__, call_site()});
  }
}

DeviceQueue::Running::Running(std::size_t operators) noexcept : operators_(operators), no_line_(kNoLine) {
  runs_a_command = true;
  if (!gpu::queue::DeviceThreads::is_one() || omp_set_num_threads == nullptr) return;
  const int threads = threads_of_host.load(std::memory_order_relaxed);
  if (std::exchange(device_thread_has, threads) != threads) omp_set_num_threads(threads);
}

DeviceQueue::Running::~Running() {
  runs_a_command = false;
  in_flight_.fetch_sub(operators_, std::memory_order_release);
}

}  // namespace anymps::backend::runtime
