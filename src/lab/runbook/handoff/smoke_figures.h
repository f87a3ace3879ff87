// The figures of a short run, from what the recorder wrote; and why two of them differ in speed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace anymps::lab::runbook::handoff {

// Of the window: {"steps","steps_per_second","step_seconds","input_share","peak_bytes","batch","workers","ended"};
// rates are null where no two steps were seen.
nlohmann::json window_figures(const std::filesystem::path& recording);

// Of the plateau test: the document of `anymps plateau` for `asked` epochs, and "holds", which is null where they were
// too few to tell.
nlohmann::json plateau_figures(const std::filesystem::path& recording, std::uint64_t asked, double threshold);

// One host for explain_speed, from a finished run of the logbook; null where its document tells no speed.
nlohmann::json local_side_of(const nlohmann::json& document, const nlohmann::json& facts);

// Why the rates of two hosts differ: [{"cause":"input|cache|network|load|environment|logging|hardware","text"}], the
// likeliest first. Each host is {"figures":window_figures,"environment":document of environment.h}; empty where they
// differ by less than a tenth, and "unknown" where nothing explains it.
nlohmann::json explain_speed(const nlohmann::json& here, const nlohmann::json& there);

}  // namespace anymps::lab::runbook::handoff
