// Reads pairs of pictures from a database of `anymps sr pack`, or as two PNGs from two folders, whenever a line comes
// in: "store" or "folder", and a seed. Answers with the seconds for so many pairs, and with a sum of their samples,
// which must not depend on where they came from. bench/superres.py drives it.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "superres/files/image_file.h"
#include "superres/files/store.h"

namespace {

using namespace anymps::superres::files;
namespace fs = std::filesystem;

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

std::uint64_t sum_of(const Pair& pair) {
  std::uint64_t sum = 0;
  for (const Image* image : {&pair.high, &pair.low}) {
    for (const std::uint16_t sample : image->samples) sum += sample;
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const Store store = Store::open(argv[1]);
  const std::vector<fs::path> highs = files_in(argv[2]);
  const std::vector<fs::path> lows = files_in(argv[3]);
  const int count = std::atoi(argv[4]);
  std::string side;
  std::uint32_t seed = 0;
  while (std::cin >> side >> seed) {
    std::mt19937 random(seed);
    std::uniform_int_distribution<std::size_t> any(0, highs.size() - 1);
    std::uint64_t sum = 0;
    const auto began = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i) {
      const std::size_t index = any(random);
      sum += sum_of(side == "store" ? store.at(index) : Pair{read_image(highs[index]), read_image(lows[index])});
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    std::cout << took.count() << ' ' << sum << std::endl;
  }
  return 0;
}
