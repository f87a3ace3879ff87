// Made-up runs of devices, as parity keeps them.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "lab/runbook/parity/values.h"
#include "lab/runbook/test_folder.h"

namespace anymps::lab {

class MadeUpRun {
 public:
  MadeUpRun(const TestFolder& folder, const std::string& device) {
    run_.device = device;
    run_.facts["device"] = device;
    run_.outcome = runbook::document::Outcome::kRan;
    run_.values_path = folder.path() / (device + ".values");
  }

  MadeUpRun& keep(const std::string& what, const std::string& name, const std::string& kind,
                  const std::vector<float>& elements) {
    std::ofstream file(run_.values_path, std::ios::binary | std::ios::app);
    runbook::trial::RecordedValue value{
        what, name, kind, 0, "float32", "float32", elements.size(), offset_, {elements.size()}};
    file.write(reinterpret_cast<const char*>(elements.data()), static_cast<std::streamsize>(elements.size() * 4));
    offset_ += elements.size() * 4;
    run_.values.push_back(value);
    return *this;
  }
  MadeUpRun& layer(const std::string& name, const std::string& kind, const std::vector<float>& elements) {
    return keep("layer", name, kind, elements);
  }
  MadeUpRun& gradient(const std::string& name, const std::vector<float>& elements) {
    return keep("gradient", name, "gradient", elements);
  }
  MadeUpRun& losses(const std::vector<double>& values) {
    for (const double value : values) run_.losses.push_back({run_.steps++, value, "float32"});
    return *this;
  }
  MadeUpRun& module(const std::string& name, const std::string& kind, const std::string& weight) {
    run_.modules.push_back({.name = name, .kind = kind, .weight = weight, .statistics = {}});
    return *this;
  }

  runbook::parity::KeptRun& run() { return run_; }

 private:
  runbook::parity::KeptRun run_;
  std::uint64_t offset_ = 0;
};

}  // namespace anymps::lab
