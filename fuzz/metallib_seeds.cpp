// Writes the seeds of metallib_fuzz into the folder that is named: whole containers, from which the fuzzer breaks off.
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/metal/container.h"

int main(int count, char** words) {
  using namespace anymps::metal;
  if (count != 2) return 2;
  const std::filesystem::path folder = words[1];
  std::filesystem::create_directories(folder);
  const auto write = [&](const char* name, const ByteVector& bytes) {
    std::ofstream file(folder / name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  };
  write("empty", container({}));
  write("one", container({{"add", "bitcode"}}));
  write("two", container({{"add", "bitcode of add"}, {"shade", "pixels", 1, {}}}));
  write("tags", container({{"add", "b", 2, {{"RFLT", ByteVector(8)}, {"TESS", ByteVector(1)}}}}));
  std::vector<TestFunction> many;
  for (int i = 0; i < 40; ++i) many.push_back({"kernel_" + std::to_string(i), std::string(16, 'b')});
  write("many", container(many));
  return 0;
}
