// Launches of a capture, run again.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace anymps::metal::tool {

// {"version", "device", ..., "operators", "launches": [{"launch", "kernel", "threads", "group", "source",
// "captured_ms", "bytes"}]}: what a capture holds.
std::string capture_as_json(const std::string& folder);
// The files of the folder that this reads.
std::vector<std::string> files_of_capture(const std::string& folder);

// {"launches": [{"launch", "kernel", "threads", "group", "outcome", "captured_ms", "ms", "buffers": [...], "reports":
// [...]} or {"launch", "kernel", "refusal"}]} of those numbers. Each launch gets the buffers that it had, and what it
// leaves in them is compared with what was captured. `outcome` is "equal" to the bit, "close", "differs", or "not
// compared" where the captured launch did not end; `buffers` are those with other bytes.
struct ReplayOptions {
  double tolerance = 0;      // by which floats may differ, as a part of the larger one
  bool validate = false;     // with the sanitiser
  bool from_source = false;  // compiles the source in the folder, which may have been changed
};
// `confine` is called once, when everything that is needed is open and before the first kernel is looked at.
std::string replay_as_json(const std::string& folder, std::span<const std::size_t> numbers,
                           const ReplayOptions& options, const std::function<void()>& confine);

}  // namespace anymps::metal::tool
