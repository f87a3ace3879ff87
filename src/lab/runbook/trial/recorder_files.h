// The recorder (python/anymps/_lab), compiled in, so that a bundle can carry it to a host that has no anymps.
#pragma once

#include <span>
#include <string_view>

namespace anymps::lab::runbook::trial {

struct RecorderFile {
  std::string_view name;
  std::string_view text;
};

// The files of one Python package.
std::span<const RecorderFile> recorder_files();

// The package's name in a bundle, and the program for `python -c` that runs a script under it; its arguments are the
// bundle's folder, then the script and its own.
constexpr std::string_view kRecorderFolder = "recorder/";
constexpr std::string_view kRunRecorded =
    "import runpy, sys; sys.path.insert(0, sys.argv.pop(1)); "
    "runpy.run_module('recorder', run_name='__main__', alter_sys=True)";

}  // namespace anymps::lab::runbook::trial
