// AIR that no compiler made:
//
//   air_fuzz [--seed N] [--count N] [--seconds S] [--keep FOLDER] [--here]
//
// The module of a random kernel is changed at the level of IR, by LLVM's FuzzMutate, and given to a sandbox that reads,
// compiles and runs it; every other time with validation. It may be refused, and its kernel may fault. A finding is
// what ends the compiler, what this process does not survive, and a module that calls out of itself and is not refused:
// every eighth does. --here compiles it in this process and does not run it: for sanitizers, which a sandbox does not
// bear. --keep writes the bitcode of each module before it is tried, and leaves that of findings.
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/FuzzMutate/IRMutator.h>
#include <llvm/FuzzMutate/Operations.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel_buffers.h"
#include "metal/engine/compiler.h"
#include "metal/frontend/program.h"
#include "metal/pipeline/kernel_error.h"
#include "metal/pipeline/pipeline.h"
#include "metal/sandbox/box.h"
#include "metal/sandbox/boxed_pipeline.h"
#include "metal/select/engine_selection.h"
#include "random.h"
#include "random_kernel.h"

namespace {

using namespace anymps;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostObjects = 4000;  // instructions, blocks and functions of a module
constexpr unsigned kMostChanges = 24;
constexpr std::uint64_t kChangesOfOneKernel = 20;  // modules that are made of it
constexpr std::uint64_t kEach = 8;                 // so many modules has one that calls out of itself
constexpr const char* kOutside = "getpid";
// In turn: the usual one, with validation, and those that take the module apart in other ways.
constexpr std::array<std::string_view, 5> kEngines = {"", "validated", "simd", "coroutines", "interpreter"};

llvm::IRMutator make_mutator() {
  std::vector<llvm::TypeGetter> types = {llvm::Type::getInt1Ty,  llvm::Type::getInt8Ty,  llvm::Type::getInt16Ty,
                                         llvm::Type::getInt32Ty, llvm::Type::getInt64Ty, llvm::Type::getHalfTy,
                                         llvm::Type::getFloatTy};
  std::vector<std::unique_ptr<llvm::IRMutationStrategy>> strategies;
  strategies.push_back(std::make_unique<llvm::InjectorIRStrategy>(llvm::InjectorIRStrategy::getDefaultOps()));
  strategies.push_back(std::make_unique<llvm::InstDeleterIRStrategy>());
  strategies.push_back(std::make_unique<llvm::InstModificationIRStrategy>());
  strategies.push_back(std::make_unique<llvm::InsertCFGStrategy>());
  strategies.push_back(std::make_unique<llvm::InsertPHIStrategy>());
  strategies.push_back(std::make_unique<llvm::SinkInstructionStrategy>());
  strategies.push_back(std::make_unique<llvm::ShuffleBlockStrategy>());
  return {std::move(types), std::move(strategies)};
}

// Nothing where the verifier does not take what became of it.
std::optional<std::string> changed(llvm::StringRef bitcode, llvm::IRMutator& mutator, fuzz::Random& random,
                                   bool calls_out) {
  llvm::LLVMContext context;
  auto module = llvm::cantFail(llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, "air"), context));
  const unsigned changes = random.between(1, kMostChanges);
  for (unsigned i = 0; i < changes; ++i) {
    mutator.mutateModule(*module, static_cast<int>(random.below(INT32_MAX)), kMostObjects);
  }
  if (calls_out) {
    llvm::Function* kernel = module->getFunction("k");
    llvm::IRBuilder<> b(&*kernel->getEntryBlock().getFirstInsertionPt());
    b.CreateCall(module->getOrInsertFunction(kOutside, b.getInt32Ty()));
  }
  if (llvm::verifyModule(*module)) return std::nullopt;
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  llvm::WriteBitcodeToFile(*module, stream);
  return bytes;
}

struct Trial {
  const std::string& bitcode;
  const fuzz::LaunchPlan& plan;
  std::string_view engine;
  bool calls_out;
  bool here;
};

// What is wrong about how it ended; empty where nothing is.
std::string finding_of(const Trial& trial) {
  metal::library::FunctionEntry function;
  function.name = "k";
  function.bitcode = std::as_bytes(std::span(trial.bitcode.data(), trial.bitcode.size()));
  std::shared_ptr<metal::pipeline::Pipeline> pipeline;
  try {
    pipeline = trial.here ? metal::select::engine_named(trial.engine)(function, {})
                          : metal::sandbox::make_boxed_pipeline(function, {}, std::string(trial.engine));
  } catch (const std::exception& error) {
    const std::string words = error.what();
    return words.find("crashed in the sandbox") == std::string::npos ? "" : words;
  }
  if (trial.calls_out) return std::string("it calls ") + kOutside + " and is not refused";
  if (trial.here) return "";
  const fuzz::LaunchPlan& plan = trial.plan;
  const fuzz::LaunchShape& shape = plan.shapes.front();
  std::vector<fuzz::Bytes> buffers = fuzz::make_buffers(plan.values, shape.threads());
  metal::pipeline::Launch launch;
  std::vector<metal::pipeline::ValidationReport> reports;
  launch.reports = &reports;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    launch.buffers[i] = buffers[i].data();
    launch.buffer_bytes[i] = buffers[i].size();
  }
  try {
    pipeline->launch(launch, {shape.grid[0], shape.grid[1], 1}, {shape.group[0], shape.group[1], 1});
  } catch (const metal::pipeline::KernelError&) {
    // A kernel of random changes faults, or has no end.
  }
  return "";
}

struct Options {
  std::uint64_t seed = 1;
  std::uint64_t count = UINT64_MAX;
  double seconds = 1e9;
  std::string keep;
  bool here = false;
};

Options options_of(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--here") {
      options.here = true;
      continue;
    }
    if (++i == count) throw std::runtime_error(word + " needs a value");
    const std::string value = words[i];
    if (word == "--seed") {
      options.seed = std::stoull(value);
    } else if (word == "--count") {
      options.count = std::stoull(value);
    } else if (word == "--seconds") {
      options.seconds = std::stod(value);
    } else if (word == "--keep") {
      options.keep = value;
    } else {
      throw std::runtime_error("what is " + word + "?");
    }
  }
  return options;
}

int run(const Options& options) {
  metal::sandbox::set_box_folder(ANYMPS_BOX_FOLDER);
  ::setenv("ANYMPS_SANDBOX_SECONDS", "2", 0);
  llvm::IRMutator mutator = make_mutator();
  const Clock::time_point began = Clock::now();
  const auto lasted = [&] { return std::chrono::duration<double>(Clock::now() - began).count(); };
  std::uint64_t modules = 0;
  std::uint64_t unfit = 0;
  std::uint64_t findings = 0;
  for (std::uint64_t seed = options.seed; modules < options.count && lasted() < options.seconds; ++seed) {
    const fuzz::KernelProgram program = fuzz::random_kernel(seed);
    const metal::frontend::Program compiled(program.source(), {});
    const std::vector<std::byte> air = compiled.air_of("k");
    const llvm::StringRef original(reinterpret_cast<const char*>(air.data()), air.size());
    fuzz::Random random(seed);
    for (std::uint64_t i = 0; i < kChangesOfOneKernel && modules < options.count; ++i) {
      if (lasted() >= options.seconds) break;
      const bool calls_out = modules % kEach == 0;
      const auto bitcode = changed(original, mutator, random, calls_out);
      if (!bitcode) {
        ++unfit;
        continue;
      }
      ++modules;
      const std::string_view engine = kEngines[modules % kEngines.size()];
      std::filesystem::path kept;
      if (!options.keep.empty()) {
        std::filesystem::create_directories(options.keep);
        kept = std::filesystem::path(options.keep) / (std::to_string(seed) + "-" + std::to_string(i) + ".bc");
        std::ofstream(kept, std::ios::binary) << *bitcode;
      }
      const std::string finding = finding_of({*bitcode, program.plan, engine, calls_out, options.here});
      if (!finding.empty()) {
        ++findings;
        std::cout << "seed " << seed << ", module " << i << ", engine \"" << engine << "\": " << finding << std::endl;
      } else if (!kept.empty()) {
        std::filesystem::remove(kept);
      }
    }
  }
  std::cout << modules << " modules in " << lasted() << " s, " << unfit << " more that the verifier refused; "
            << findings << " findings" << std::endl;
  return findings == 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  try {
    return run(options_of(count, words));
  } catch (const std::exception& error) {
    std::cerr << "air_fuzz: " << error.what() << "\n";
    return 2;
  }
}
