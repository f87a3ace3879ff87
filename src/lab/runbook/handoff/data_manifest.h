// What a data set consists of: each file with its size and SHA-256, and one digest for all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace anymps::lab::runbook::handoff {

// The files of a data set, a file or a folder: their paths in it, sorted, and where they lie. Links are followed, each
// folder is visited once. Throws std::runtime_error where something cannot be read.
std::vector<std::pair<std::string, std::filesystem::path>> data_files(const std::filesystem::path& data);

// {"path","sha256","bytes","files":[{"path","bytes","sha256"}]}. `progress` is told how many files of how many are
// done.
nlohmann::json data_manifest(const std::filesystem::path& data,
                             const std::function<void(std::size_t done, std::size_t of)>& progress = {});

}  // namespace anymps::lab::runbook::handoff
