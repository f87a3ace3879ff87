#include "metal/sandbox/worker/worker.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "metal/pipeline/kernel_error.h"
#include "metal/sandbox/frames.h"
#include "metal/sandbox/messages.h"
#include "metal/select/confined_engine.h"
#include "metal/select/engine_selection.h"

namespace anymps::metal::sandbox::worker {
namespace {

// Its own, beside the buffers that are shared.
constexpr rlim_t kMostMemory = rlim_t{4} << 30U;

// Reads on a thread of its own, so that the process ends with the other side also while a kernel runs that does not.
class Requests {
 public:
  Requests() {
    std::thread([this] { read(); }).detach();
  }

  std::vector<std::byte> next() {
    std::unique_lock lock(mutex_);
    came_.wait(lock, [this] { return frame_.has_value(); });
    std::vector<std::byte> frame = std::move(*frame_);
    frame_.reset();
    return frame;
  }

 private:
  void read() {
    for (;;) {
      std::vector<std::byte> frame;
      if (receive_frame(kSocket, frame, UINT64_MAX) != Received::kFrame) ::_exit(0);
      const std::lock_guard lock(mutex_);
      frame_ = std::move(frame);  // the other side asks no more until this is answered
      came_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable came_;
  std::optional<std::vector<std::byte>> frame_;
};

class SharedMemory {
 public:
  // The other side has made it so large.
  std::byte* of_size(std::size_t bytes) {
    if (bytes > bytes_) {
      if (bytes_ != 0) ::munmap(base_, bytes_);
      bytes_ = 0;
      void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, kMemory, 0);
      if (mapped == MAP_FAILED) throw pipeline::KernelError("the sandbox cannot map its buffers");
      base_ = static_cast<std::byte*>(mapped);
      bytes_ = bytes;
    }
    return base_;
  }

 private:
  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
};

class Worker {
 public:
  Answer answer(const Request& request) {
    Answer answer;
    try {
      for (const std::uint64_t number : request.dropped) pipelines_.erase(number);
      if (request.make) make(*request.make, answer);
      if (request.launch) launch(*request.launch, answer);
    } catch (const std::exception& error) {
      answer = {};
      answer.refusal = error.what();
    }
    return answer;
  }

 private:
  void make(const MakeRequest& make, Answer& answer) {
    library::FunctionEntry function;
    function.name = make.name;
    function.bitcode = std::as_bytes(std::span(make.bitcode.data(), make.bitcode.size()));
    std::shared_ptr<pipeline::Pipeline> pipeline = select::engine_named(make.engine)(function, make.constants);
    answer.pipeline = next_++;
    answer.route = pipeline->route();
    answer.signature = pipeline->signature();
    pipelines_[answer.pipeline] = std::move(pipeline);
  }

  void launch(const LaunchRequest& request, Answer& answer) {
    pipeline::Launch launch;
    std::byte* memory = memory_.of_size(request.memory_bytes);
    for (const SharedBuffer& buffer : request.buffers) {
      launch.buffers[buffer.binding] = memory + buffer.offset;
      launch.buffer_bytes[buffer.binding] = buffer.bytes;
    }
    launch.by_value = request.by_value;
    launch.threadgroup_bytes = request.threadgroup_bytes;
    launch.validate = request.validate;
    launch.reports = &answer.reports;
    pipelines_.at(request.pipeline)->launch(launch, request.threads, request.group);
  }

  std::map<std::uint64_t, std::shared_ptr<pipeline::Pipeline>> pipelines_;
  std::uint64_t next_ = 0;
  SharedMemory memory_;
};

void bound_memory() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which have taken more than that already
  const rlimit limit{.rlim_cur = kMostMemory, .rlim_max = kMostMemory};
  ::setrlimit(RLIMIT_DATA, &limit);  // what is shared does not count
#endif
}

}  // namespace
}  // namespace anymps::metal::sandbox::worker

int anymps_metal_sandbox() {
  namespace sandbox = anymps::metal::sandbox;
  try {
    sandbox::worker::bound_memory();
    anymps::metal::select::confine_engine();
    sandbox::worker::Requests requests;
    sandbox::worker::Worker worker;
    sandbox::send_frame(sandbox::kSocket, sandbox::pack(sandbox::Answer{}), sandbox::SendBy::kWrite);
    for (;;) {
      const auto request = sandbox::unpack_request(requests.next());
      if (!request) ::_exit(1);
      const std::vector<std::byte> answer = sandbox::pack(worker.answer(*request));
      if (!sandbox::send_frame(sandbox::kSocket, answer, sandbox::SendBy::kWrite)) ::_exit(0);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::fflush(stderr);
    ::_exit(1);
  }
}
