// The log of a training: a line of JSON for each step that is told, and each validation; and a page with the curves.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace anymps::superres::training {

class TrainingLog {
 public:
  // `folder`/log.jsonl. What it has of steps beyond `step`, which a training that goes on from there takes again, is
  // taken out.
  TrainingLog(const std::filesystem::path& folder, std::uint64_t step);

  void add(const nlohmann::json& line);
  // `folder`/curves.html: the losses and the PSNR so far.
  void write_page(const std::string& title) const;

 private:
  std::filesystem::path folder_;
  std::vector<nlohmann::json> lines_;
};

}  // namespace anymps::superres::training
