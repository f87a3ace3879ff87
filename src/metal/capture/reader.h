// Reads what writer.h writes. Nothing in a folder is trusted: names, sizes and places are checked before they are used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "metal/capture/capture.h"

namespace anymps::metal::capture {

// The text begins with the file's name.
struct CaptureError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct RecordedBuffer {
  std::size_t bytes = 0;
  std::string before;  // the hash of its bytes
  bool written = false;
  std::string after;  // the same behind the launch; empty where it was not written, or the launch did not end
};

struct RecordedBinding {
  unsigned index = 0;
  std::size_t buffer = 0;
  std::size_t offset = 0;
  std::size_t bytes = 0;
  bool by_value = false;
};

// The buffer holds, at this place, the address of another's byte.
struct RecordedAddress {
  std::size_t buffer = 0;
  std::size_t at = 0;
  std::size_t of = 0;
  std::size_t offset = 0;
};

struct RecordedLaunch {
  std::string kernel;
  std::string library;  // names of files in the folder
  std::string source;   // empty where there is none
  bool fast_math = false;
  pipeline::Size threads{};
  pipeline::Size group{};
  std::vector<RecordedBinding> bindings;
  std::vector<RecordedBuffer> buffers;
  std::vector<RecordedAddress> addresses;
  std::vector<std::pair<unsigned, std::size_t>> threadgroup;  // binding, bytes
  std::optional<double> milliseconds;                         // none: it did not end
};

std::string launches_file(const std::string& folder);

// In the order in which they began. A last line that was cut off is left out. Throws CaptureError.
std::vector<RecordedLaunch> read_launches(const std::string& folder);

// The file of the bytes with this hash.
std::string buffer_file(const std::string& folder, const std::string& hash);

// Those bytes; the file may have been opened ahead (gpu/support/files_ahead.h). Throws CaptureError where they are not
// there, or are others.
std::vector<std::byte> read_buffer(const std::string& folder, const std::string& hash, std::size_t bytes);

}  // namespace anymps::metal::capture
