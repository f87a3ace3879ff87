// A capture of Metal launches, run again in child processes: one that crashes is a result.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lab/metallib/reader.h"

namespace anymps::lab::metallib {

struct ReplayRequest {
  std::string folder;
  std::vector<std::size_t> launches;  // by number; empty: all
  std::string kernel;                 // launches of it alone; empty: of any
  bool validate = false;
  bool from_source = false;
  double tolerance = 0;
};

struct CaptureReplay {
  std::string folder;
  std::optional<MetalAnswer> problem;  // why nothing could be replayed
  bool interrupted = false;
  nlohmann::json launches = nlohmann::json::array();  // metal/tool/replay.h
  std::size_t equal = 0;
  std::size_t close = 0;
  std::size_t differing = 0;
  std::size_t not_compared = 0;
  std::size_t refusals = 0;
  std::size_t reports = 0;  // of the sanitiser
};

CaptureReplay replay_capture(const ReplayRequest& request,
                             const std::function<void(std::size_t done, std::size_t of)>& progress);

nlohmann::json to_json(const CaptureReplay& replay);
// A line for each launch with what is other below it, and one that counts.
std::string to_text(const CaptureReplay& replay);

// What a capture holds: the answer to metal/tool/tool.h's `capture`, for a person.
std::string capture_screen(const nlohmann::json& capture);

}  // namespace anymps::lab::metallib
