// Libraries that Apple's compiler made, which tools/genuine_kernels.py cuts out of PyTorch's macOS wheel.
#include <gtest/gtest.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "gpu/support/float16.h"
#include "metal/air/signature.h"
#include "metal/engine/make_pipeline.h"
#include "metal/interpret/interpreter.h"
#include "metal/library/metallib.h"
#include "metal/pipeline/pipeline.h"

namespace anymps::metal {
namespace {

namespace fs = std::filesystem;

class GenuineKernels : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("ANYMPS_GENUINE_KERNELS");
    if (folder == nullptr || *folder == 0) {
      GTEST_SKIP() << "ANYMPS_GENUINE_KERNELS names no folder; tools/genuine_kernels.py FOLDER makes one";
    }
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() == ".metallib") files_.push_back(entry.path());
    }
    ASSERT_FALSE(files_.empty()) << "no .metallib in " << folder;
  }

  std::vector<fs::path> files_;
};

TEST_F(GenuineKernels, AllAreRead) {
  for (const fs::path& file : files_) {
    const library::Metallib library = library::Metallib::from_file(file);
    // What PyTorch 2.13's wheel carries; libraries of others may lie beside them.
    if (file.filename().string().starts_with("torch-2.13.0-")) {
      EXPECT_EQ(library.functions().size(), 12998U) << file;
    }
    std::size_t bound = 0;
    for (const library::FunctionEntry& function : library.functions()) {
      EXPECT_EQ(library.find(function.name), &function);
      if (function.type != library::FunctionType::kKernel) continue;
      llvm::LLVMContext context;
      try {
        const auto module = air::read_module(context, function.bitcode, function.name);
        const air::Signature signature = air::read_signature(*module, function.name);
        EXPECT_EQ(signature.air.major, function.versions.air_major) << function.name;
        EXPECT_EQ(signature.metal.minor, function.versions.metal_minor) << function.name;
        for (const air::Argument& argument : signature.arguments) bound += air::is_bound(argument.kind) ? 1 : 0;
      } catch (const air::AirError& error) {
        ADD_FAILURE() << error.what();
      }
    }
    EXPECT_GT(bound, library.functions().size()) << file << ": kernels without buffers compute nothing";
  }
}

// Instructions and functions that the interpreter does not know are refused here, before any launch.
// Every ninth: all of a library take half a minute.
TEST_F(GenuineKernels, TheInterpreterKnowsAllThatTheyUse) {
  for (const fs::path& file : files_) {
    const library::Metallib library = library::Metallib::from_file(file);
    for (std::size_t i = 0; i < library.functions().size(); i += 9) {
      const library::FunctionEntry& function = library.functions()[i];
      if (function.type != library::FunctionType::kKernel) continue;
      EXPECT_NO_THROW(interpret::make_interpreter(function, {})) << function.name;
    }
  }
}

struct Bfloat {
  Bfloat() = default;
  explicit Bfloat(float value)
      : bits(static_cast<std::uint16_t>((std::bit_cast<std::uint32_t>(value) + 0x8000) >> 16)) {}
  explicit operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
  std::uint16_t bits = 0;
};

// Weights of 8 bits times a row, and times many rows by 8x8 matrices: these take their threadgroup memory as an
// argument, which Python has no way to give.
template <typename T>
void check_int8_products(const library::Metallib& library, const std::string& type, float step) {
  constexpr std::uint32_t kInner = 96;
  constexpr std::uint32_t kColumns = 96;
  constexpr std::uint32_t kPaddedColumns = 128;  // scales are read by whole blocks
  for (const std::uint32_t rows : {3U, 40U}) {
    const bool many = rows >= 12;
    const std::string name = (many ? "large_m_int8pack_mm_" : "int8pack_mv_") + type;
    const library::FunctionEntry* function = library.find(name);
    ASSERT_NE(function, nullptr) << name;
    std::mt19937 random(rows);
    std::uniform_real_distribution<float> real(-1, 1);
    std::uniform_int_distribution<int> byte(-128, 127);
    std::vector<T> a(std::size_t{rows} * kInner);
    std::vector<std::int8_t> b(std::size_t{kColumns} * kInner);
    std::vector<T> scales(kPaddedColumns);
    std::vector<T> out(std::size_t{rows} * kColumns);
    for (T& value : a) value = T(real(random));
    for (std::int8_t& value : b) value = static_cast<std::int8_t>(byte(random));
    for (T& value : scales) value = T(real(random) / 64);
    std::array<std::uint32_t, 4> sizes = {rows, kInner, kColumns, 0};
    pipeline::Launch launch;
    launch.buffers = {a.data(), b.data(), scales.data(), out.data(), sizes.data()};
    launch.threadgroup_bytes[0] = many ? 12288 : 32;
    const auto pipeline = engine::make_pipeline(*function, {});
    if (many) {
      pipeline->launch(launch, {(rows + 31) / 32 * 128, (kColumns + 63) / 64, 1}, {128, 1, 1});
    } else {
      pipeline->launch(launch, {(kColumns + 7) / 8 * 64, rows, 1}, {64, 1, 1});
    }
    for (std::size_t m = 0; m < rows; ++m) {
      for (std::size_t n = 0; n < kColumns; ++n) {
        double sum = 0;
        for (std::size_t k = 0; k < kInner; ++k) {
          sum += static_cast<double>(static_cast<float>(a[m * kInner + k])) * b[n * kInner + k];
        }
        const double expected = sum * static_cast<double>(static_cast<float>(scales[n]));
        ASSERT_NEAR(static_cast<float>(out[m * kColumns + n]), expected, std::abs(expected) * step + 1e-4)
            << name << ", row " << m << ", column " << n;
      }
    }
  }
}

TEST_F(GenuineKernels, ThreadgroupMemoryIsAnArgumentOfInt8Products) {
  for (const fs::path& file : files_) {
    if (!file.filename().string().starts_with("torch-2.13.0-")) continue;
    const library::Metallib library = library::Metallib::from_file(file);
    check_int8_products<float>(library, "float", 1e-6F);
    check_int8_products<gpu::support::float16>(library, "half", 0x1p-10F);
    check_int8_products<Bfloat>(library, "bfloat", 0x1p-7F);
  }
}

}  // namespace
}  // namespace anymps::metal
