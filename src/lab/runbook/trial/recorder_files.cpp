#include "lab/runbook/trial/recorder_files.h"

#include <array>

namespace anymps::lab::runbook::trial {

std::span<const RecorderFile> recorder_files() {
  static constexpr auto kFiles = std::to_array<RecorderFile>({
#include "recorder_files.inc"
  });
  return kFiles;
}

}  // namespace anymps::lab::runbook::trial
