// What a process and its sandbox say to each other (box.h, worker.h): frames of a length and so many bytes, a request
// and its answer in turn. Buffers do not travel: they lie in memory that both share.
//
// The sandbox runs code that nobody trusts, so its answers are read as any file of a stranger is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "metal/abi/constant_values.h"
#include "metal/abi/route.h"
#include "metal/air/signature.h"
#include "metal/pipeline/pipeline.h"
#include "metal/pipeline/validation.h"

namespace anymps::metal::sandbox {

// Descriptors of the sandbox.
inline constexpr int kSocket = 3;
inline constexpr int kMemory = 4;

// Longer answers are none: this is far more than the reports of a launch take.
inline constexpr std::uint64_t kMostAnswerBytes = std::uint64_t{64} << 20U;

struct MakeRequest {
  std::string name;
  std::string bitcode;
  std::string engine;  // a name that engine_named() knows
  abi::ConstantValues constants;
};

struct SharedBuffer {
  unsigned binding = 0;
  std::uint64_t offset = 0;  // in the shared memory
  std::uint64_t bytes = 0;
};

struct LaunchRequest {
  std::uint64_t pipeline = 0;
  pipeline::Size threads{};
  pipeline::Size group{};
  bool validate = false;
  std::uint32_t by_value = 0;
  std::uint64_t memory_bytes = 0;  // of the shared memory
  std::vector<SharedBuffer> buffers;
  std::array<std::size_t, air::kMaxBindings> threadgroup_bytes{};
};

struct Request {
  std::vector<std::uint64_t> dropped;  // pipelines that nobody needs any more
  std::optional<MakeRequest> make;
  std::optional<LaunchRequest> launch;
};

struct Answer {
  std::string refusal;  // why it was not done; empty where it was
  // Of a pipeline that was made.
  std::uint64_t pipeline = 0;
  abi::Route route = abi::Route::kThreadLoop;
  air::Signature signature;
  // Of a launch.
  std::vector<pipeline::ValidationReport> reports;
};

std::vector<std::byte> pack(const Request& request);
std::vector<std::byte> pack(const Answer& answer);

// Nothing for bytes that are none, or that ask for what cannot be.
std::optional<Request> unpack_request(std::span<const std::byte> bytes);
std::optional<Answer> unpack_answer(std::span<const std::byte> bytes);

}  // namespace anymps::metal::sandbox
