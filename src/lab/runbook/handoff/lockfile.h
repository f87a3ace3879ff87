// The environment as files that installers read.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "lab/runbook/handoff/environment.h"

namespace anymps::lab::runbook::handoff {

// pip's: name==version for each package of an environment. With hashes where every package's
// archive is known, as pip takes all or none; else those that are known stand in comments.
std::string requirements_lock(const Environment& environment);

// conda's explicit list, from the records of an environment's conda-meta folder; empty where there are none.
std::string conda_explicit(const std::filesystem::path& prefix);

// All lockfiles of the environment in use, by their names: requirements.lock always; uv.lock from `folder` or above,
// and what `uv pip freeze` says, where uv is in use; conda-explicit.txt where CONDA_PREFIX is set.
std::map<std::string, std::string> lockfiles(const Environment& environment, const std::filesystem::path& folder);

}  // namespace anymps::lab::runbook::handoff
