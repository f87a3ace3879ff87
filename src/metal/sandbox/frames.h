// Frames on a stream: a length of 64 bits, and so many bytes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace anymps::metal::sandbox {

// A process that is confined has no send(); there SIGPIPE ends it where the other side is gone, which is as well.
enum class SendBy { kSend, kWrite };

// False where the other side is gone.
bool send_frame(int socket, std::span<const std::byte> bytes, SendBy how);

enum class Received { kFrame, kEnd, kTooLate };

// Nothing that is longer than `most`: such a sender is as good as gone. Without a time it waits for as long as it
// takes.
Received receive_frame(int socket, std::vector<std::byte>& bytes, std::uint64_t most,
                       std::optional<std::chrono::steady_clock::time_point> until = std::nullopt);

}  // namespace anymps::metal::sandbox
