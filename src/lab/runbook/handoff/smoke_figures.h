// The figures of a short run, from what the recorder wrote.
#pragma once

#include <cstdint>
#include <filesystem>

#include "lab/runbook/handoff/document.h"

namespace anymps::lab::runbook::handoff {

WindowFigures window_figures(const std::filesystem::path& recording);

// As `anymps plateau` judges `asked` epochs.
SmokePlateau plateau_figures(const std::filesystem::path& recording, std::uint64_t asked, double threshold);

}  // namespace anymps::lab::runbook::handoff
