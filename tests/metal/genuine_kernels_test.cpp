// Libraries that Apple's compiler made, which tools/genuine_kernels.py cuts out of PyTorch's macOS wheel.
#include <gtest/gtest.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "metal/air/signature.h"
#include "metal/interpret/interpreter.h"
#include "metal/library/metallib.h"

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
    const Metallib library = Metallib::from_file(file);
    // What PyTorch 2.13's wheel carries; libraries of others may lie beside them.
    if (file.filename().string().starts_with("torch-2.13.0-")) {
      EXPECT_EQ(library.functions().size(), 12998U) << file;
    }
    std::size_t bound = 0;
    for (const FunctionEntry& function : library.functions()) {
      EXPECT_EQ(library.find(function.name), &function);
      if (function.type != FunctionType::kKernel) continue;
      llvm::LLVMContext context;
      try {
        const auto module = read_module(context, function.bitcode, function.name);
        const Signature signature = read_signature(*module, function.name);
        EXPECT_EQ(signature.air.major, function.versions.air_major) << function.name;
        EXPECT_EQ(signature.metal.minor, function.versions.metal_minor) << function.name;
        for (const Argument& argument : signature.arguments) bound += is_bound(argument.kind) ? 1 : 0;
      } catch (const AirError& error) {
        ADD_FAILURE() << error.what();
      }
    }
    EXPECT_GT(bound, library.functions().size()) << file << ": kernels without buffers compute nothing";
  }
}

// Instructions and functions that the interpreter does not know are refused here, before any launch.
TEST_F(GenuineKernels, AllAreKnownToTheInterpreter) {
  for (const fs::path& file : files_) {
    const Metallib library = Metallib::from_file(file);
    for (const FunctionEntry& function : library.functions()) {
      if (function.type != FunctionType::kKernel) continue;
      EXPECT_NO_THROW(interpret::make_interpreter(function, {})) << function.name;
    }
  }
}

}  // namespace
}  // namespace anymps::metal
