#include "superres/files/unfolding.h"

#include <cstdlib>

#include "gpu/support/whole_number.h"

namespace anymps::superres::files {
namespace {

constexpr std::uint64_t kMostPixels = std::uint64_t{1} << 27;
constexpr std::uint64_t kTimesTheFile = 16;
constexpr std::uint64_t kAlwaysBytes = std::uint64_t{64} << 20;

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : gpu::support::whole_number<std::uint64_t>(text).value_or(otherwise);
}

}  // namespace

std::uint64_t most_pixels() { return setting("ANYMPS_SR_MOST_PIXELS", kMostPixels); }

std::uint64_t most_bytes_of_weights(std::uint64_t file_bytes) {
  return setting("ANYMPS_SR_MOST_BYTES", kTimesTheFile * file_bytes + kAlwaysBytes);
}

}  // namespace anymps::superres::files
