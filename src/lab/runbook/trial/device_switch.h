// How a script is told on which device to run.
#pragma once

#include <string>
#include <vector>

#include "lab/runbook/trial/command_setting.h"

namespace anymps::lab::runbook::trial {

// The option or the environment variable that the user named (of which one may be empty), else --device where the
// command has it or its script speaks of it. Throws std::invalid_argument where the script does not.
CommandSetting device_switch(const std::vector<std::string>& command, const std::string& argument,
                             const std::string& environment);

}  // namespace anymps::lab::runbook::trial
