// What `anymps doctor` judges, gathered.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lab/host/cache_folders.h"
#include "lab/host/child.h"
#include "lab/host/machine.h"
#include "lab/host/platform.h"

namespace anymps::lab::runbook::doctor {

struct DoctorFacts {
  host::Machine machine;
  bool on_mac = false;
  std::string hardware;     // architecture of the processor
  bool translated = false;  // this program is x86 under Rosetta
  std::string container;
  host::PowerState power;
  host::ThermalState thermal;
  std::optional<host::SwapState> swap;
  std::optional<double> load;
  std::optional<std::uint64_t> memory_free;
  std::optional<std::uint64_t> descriptors;  // that a process may have open
  std::vector<host::CacheMount> caches;
  std::vector<std::pair<std::string, std::string>> variables;
  std::string mac;        // that was asked for by name, or empty
  nlohmann::json python;  // what ask_python() answered, with what python/anymps/_doctor_questions.py adds

  // Of this machine and that Python. Throws std::runtime_error where there is no such Python.
  static DoctorFacts gather(const host::ChildCommand& python);
};

}  // namespace anymps::lab::runbook::doctor
