// The Macs of data/macs as a table, for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "gpu/history/mac_profile.h"
#include "lab/base/terminal.h"

namespace anymps::lab::size {

// One row a Mac, under that version of macOS. A figure that nobody has published carries a star.
std::string mac_screen(gpu::history::MacosVersion macos, const base::Terminal& terminal);

// One line a source: its key, what it says, where it is.
std::string mac_source_screen();

// Every figure as {"value": ..., "source": ...}, and the sources.
nlohmann::json macs_to_json(gpu::history::MacosVersion macos);

}  // namespace anymps::lab::size
