// What ran on the device as a track of torch.profiler's: kernels with their names and times, each linked to the
// operator that asked for it.
#include "backend/observe/profiler_track.h"

#include <kineto/libkineto.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "backend/observe/details.h"
#include "backend/observe/wall_clock.h"
#include "backend/runtime/device_queue.h"
#include "gpu/device.h"
#include "gpu/trace/trace.h"

namespace anymps::backend::observe {
namespace {

using libkineto::ActivityType;
using libkineto::GenericTraceActivity;

// Where the track is among the others.
constexpr std::int64_t kDevice = 0;
constexpr std::int64_t kQueue = 0;
constexpr std::int64_t kBehindProcesses = 5000000;

// Programs look for an operator by its name, and must not find it twice: "aten::mm" runs "mps_mm".
std::string kernel_name(const gpu::trace::TraceEvent& event) {
  if (event.kind == gpu::trace::TraceKind::kShader) return std::string(event.name);
  const std::size_t colons = event.name.rfind("::");
  return "mps_" + std::string(colons == std::string_view::npos ? event.name : event.name.substr(colons + 2));
}

class Session final : public libkineto::IActivityProfilerSession {
 public:
  ~Session() override {
    if (on_) end_details(Watched::kWhenItRuns);
  }

  void start() override {
    on_ = true;
    if (!begin_details(Watched::kWhenItRuns)) errors_.emplace_back("anymps: no memory for a trace of the device");
    offset_ = since_1970_minus_trace_ns();
    began_ = static_cast<std::int64_t>(gpu::trace::Trace::now_ns()) + offset_;
    if (const gpu::trace::Trace* trace = gpu::trace::Trace::current()) first_ = trace->written();
    status_ = libkineto::TraceStatus::RECORDING;
  }

  void stop() override {
    if (!on_) return;
    runtime::DeviceQueue::drain();
    collect();
    end_details(Watched::kWhenItRuns);
    on_ = false;
    status_ = libkineto::TraceStatus::PROCESSING;
  }

  std::vector<std::string> errors() override { return errors_; }

  void processTrace(libkineto::ActivityLogger& logger) override {
    for (const auto& activity : buffer_->activities) activity->log(logger);
  }

  void processTrace(libkineto::ActivityLogger& logger, libkineto::getLinkedActivityCallback linked, std::int64_t start,
                    std::int64_t end) override {
    for (const auto& activity : buffer_->activities) {
      if (activity->endTime < start || activity->startTime > end) continue;
      activity->linked = linked(activity->id);
      activity->log(logger);
    }
  }

  std::unique_ptr<libkineto::DeviceInfo> getDeviceInfo() override {
    return std::make_unique<libkineto::DeviceInfo>(
        libkineto::DeviceInfo{kDevice, kBehindProcesses, "mps", gpu::device_facts().name});
  }
  std::vector<libkineto::ResourceInfo> getResourceInfos() override { return {{kQueue, 0, kDevice, "queue"}}; }

  // None where nothing ran on the device: a program of the CPU has the trace that it had.
  std::unique_ptr<libkineto::CpuTraceBuffer> getTraceBuffer() override {
    return buffer_->activities.empty() ? nullptr : std::move(buffer_);
  }

  void pushCorrelationId(std::uint64_t id) override { push_correlation(id); }
  void popCorrelationId() override { pop_correlation(); }

 private:
  void collect() {
    const gpu::trace::Trace* trace = gpu::trace::Trace::current();
    if (trace == nullptr) return;
    const std::int64_t end = static_cast<std::int64_t>(gpu::trace::Trace::now_ns()) + offset_;
    buffer_->span = libkineto::TraceSpan(began_, end, "mps");
    buffer_->span.iteration = 0;
    const std::uint64_t lost = trace->read(first_, [&](const gpu::trace::TraceEvent& event) {
      if (event.kind != gpu::trace::TraceKind::kOperator && event.kind != gpu::trace::TraceKind::kShader) return;
      buffer_->emplace_activity(buffer_->span, ActivityType::CONCURRENT_KERNEL, kernel_name(event));
      GenericTraceActivity& activity = *buffer_->activities.back();
      activity.endTime = static_cast<std::int64_t>(event.time_ns) + offset_;
      activity.startTime = activity.endTime - static_cast<std::int64_t>(event.b);
      activity.id = static_cast<std::int32_t>(event.c);
      activity.device = kDevice;
      activity.resource = kQueue;
      activity.flow.id = static_cast<std::uint32_t>(event.c);
      activity.flow.type = libkineto::kLinkAsyncCpuGpu;
      activity.flow.start = 0;
      // By these names tools tell the kernels of devices and streams apart.
      activity.addMetadata("device", kDevice);
      activity.addMetadata("stream", kQueue);
      activity.addMetadata("correlation", event.c);
      if (event.kind == gpu::trace::TraceKind::kShader) activity.addMetadata("threads", event.a);
    });
    if (lost != 0) errors_.push_back("anymps: " + std::to_string(lost) + " events of the device were lost");
  }

  bool on_ = false;
  std::int64_t offset_ = 0;
  std::int64_t began_ = 0;
  std::uint64_t first_ = 0;
  std::unique_ptr<libkineto::CpuTraceBuffer> buffer_ = std::make_unique<libkineto::CpuTraceBuffer>();
  std::vector<std::string> errors_;
};

class Profiler final : public libkineto::IActivityProfiler {
 public:
  const std::string& name() const override {
    static const std::string kName = "anymps";
    return kName;
  }

  // What is on where activities=[ProfilerActivity.CPU]: a Mac's PyTorch has no activity for the device.
  const std::set<ActivityType>& availableActivities() const override {
    static const std::set<ActivityType> kTypes = {ActivityType::CONCURRENT_KERNEL, ActivityType::EXTERNAL_CORRELATION,
                                                  ActivityType::PRIVATEUSE1_RUNTIME};
    return kTypes;
  }

  std::unique_ptr<libkineto::IActivityProfilerSession> configure(const std::set<ActivityType>&,
                                                                 const libkineto::Config&) override {
    return std::make_unique<Session>();
  }
  std::unique_ptr<libkineto::IActivityProfilerSession> configure(std::int64_t, std::int64_t,
                                                                 const std::set<ActivityType>& types,
                                                                 const libkineto::Config& config) override {
    return configure(types, config);
  }
};

}  // namespace

void register_profiler_track() {
  libkineto::api().registerProfilerFactory([] { return std::make_unique<Profiler>(); });
}

}  // namespace anymps::backend::observe
