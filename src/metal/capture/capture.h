// A capture: launches with all that they need to be run again, in a folder (docs/capture.md).
//
//   capture.json          what made it, and which operators ran beside the kernels
//   launches.jsonl        a line for each launch when it begins, and one when it has ended
//   kernels/HASH.metallib one kernel; HASH.metal is the source of those that came from source
//   buffers/HASH.bin      the bytes of a buffer; what has the same bytes is there once
//
// What is written of a launch is written before it runs: a kernel that takes the process with it can be replayed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "metal/pipeline/loaded_library.h"
#include "metal/pipeline/pipeline.h"

namespace anymps::metal::pipeline {
class LoadedLibrary;
}

namespace anymps::metal::capture {

// Bytes that belong together, such as a tensor's storage.
struct Memory {
  std::byte* base = nullptr;
  std::size_t bytes = 0;

  bool contains(const void* address) const {
    return static_cast<std::size_t>(static_cast<const std::byte*>(address) - base) < bytes;
  }
};

struct CapturedLaunch {
  std::shared_ptr<const pipeline::LoadedLibrary> library;
  std::string kernel;
  const air::Signature& signature;
  const pipeline::Launch& launch;
  pipeline::Size threads;
  pipeline::Size group;
  // What each binding points into, so that two that share it do so again; nothing: the binding's own bytes.
  std::span<const Memory, air::kMaxBindings> around;
  // What addresses among the values that are passed may lead to.
  std::span<const Memory> reachable;
};

struct RanOperator {
  std::string name;
  std::uint64_t count = 0;
  std::uint64_t nanoseconds = 0;
};

// Any thread may use it. All functions throw std::exception where the folder cannot be written to.
class Capture {
 public:
  virtual ~Capture() = default;
  // Around a launch, whose memory stays where it is; returns the number that ended() asks for.
  virtual std::size_t begun(const CapturedLaunch& launch) = 0;
  virtual void ended(std::size_t number, std::uint64_t nanoseconds) = 0;
  virtual void finish(std::span<const RanOperator> operators) = 0;
};

// What the capture was made by and for: "device", "torch", ...
using CaptureFacts = std::vector<std::pair<std::string, std::string>>;

namespace capture_format {

inline constexpr int kVersion = 1;
inline constexpr char kAbout[] = "capture.json";
inline constexpr char kLaunches[] = "launches.jsonl";
inline constexpr char kKernels[] = "kernels";
inline constexpr char kBuffers[] = "buffers";

}  // namespace capture_format

}  // namespace anymps::metal::capture
