// A folder for the length of a test, with files in it.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "scratch_folder.h"

namespace anymps::lab {

class TestFolder : public ScratchFolder {
 public:
  void write(const std::string& name, std::string_view text) const {
    std::filesystem::create_directories((path() / name).parent_path());
    std::ofstream(path() / name) << text;
  }
};

}  // namespace anymps::lab
