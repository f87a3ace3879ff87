// What a device that works beside the host made of a run, or would have made of it.
//
// With ANYMPS_QUEUE=async the device worked beside the host, and this is what was measured. Without, operators had run
// when they returned; on a GPU the host goes on at once, the device takes them in order, and the host waits where it
// asks for a result. This simulates that with the measured times: the host's without those of its kernels, the kernels
// one after the other. Then it is a model: it leaves out what a launch costs on a Mac, and that its GPU is faster or
// slower than this CPU.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lab/trace/reader.h"

namespace anymps::lab::trace {

struct ReplayedOperator {
  std::uint64_t count = 0;
  double self_seconds = 0;
  double queued_seconds = 0;  // it had to wait for those before it
  double waited_seconds = 0;  // the host waited for it, being the last one that was queued
};

struct ReplayedTimeline {
  bool measured = false;      // else modelled
  double host_seconds = 0;    // until the last event, waiting included
  double busy_seconds = 0;    // of the device
  double queued_seconds = 0;  // kernels had to wait for those before them, all together
  double waited_seconds = 0;  // of the host, for the device
  std::uint64_t kernels = 0;
  std::uint64_t waits = 0;
  std::map<std::string, ReplayedOperator> operators;
  // The device worked while the host did not wait for it.
  double overlapped_seconds() const { return busy_seconds > waited_seconds ? busy_seconds - waited_seconds : 0; }
  const char* name() const { return measured ? "measured" : "modelled"; }
  double busy_share() const { return host_seconds > 0 ? busy_seconds / host_seconds : 0; }
};

ReplayedTimeline replay(const TraceFile& trace);

nlohmann::json to_json(const ReplayedTimeline& timeline);

}  // namespace anymps::lab::trace
