// Which Python a command means, and how a command line becomes a program to start.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace anymps::lab::host {

// Where this executable lies, links resolved; empty when the system does not tell.
std::filesystem::path own_executable();

// $VIRTUAL_ENV/bin/python, else the python beside this executable, else "python3" for PATH to find.
std::string find_python();

// `train.py ...`, `study.ipynb ...` and `-m module ...` get Python in front, a bare `python` is that Python; anything
// else is a program already.
std::vector<std::string> with_python(std::vector<std::string> words);

// Splits as a shell does: spaces separate, quotes and backslashes keep together. Throws std::invalid_argument on a
// quote that is never closed.
std::vector<std::string> split_words(std::string_view text);

}  // namespace anymps::lab::host
