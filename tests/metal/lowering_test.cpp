// Each file of lower/ is a module before a pass, with what must be found in it after: "; PASS: <name>" names the pass,
// and the other comments are FileCheck's.
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/FileCheck/FileCheck.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Regex.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Scalar/ADCE.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "metal/lower/alike_cases.h"
#include "metal/lower/bodies.h"
#include "metal/lower/dispatch.h"
#include "metal/lower/once.h"
#include "metal/lower/optimiser.h"
#include "metal/lower/side_by_side.h"
#include "metal/lower/simd_parts.h"
#include "metal/lower/simd_prepare.h"
#include "metal/lower/specialise.h"
#include "metal/lower/validation.h"
#include "metal/lower/vector_forms.h"

namespace anymps::metal::lower {
namespace {

namespace fs = std::filesystem;

// What a module looks like to the passes that make "run": a buffer at binding 0, then the position in the grid.
const std::vector<Parameter> kBufferAndPosition = {{.role = Role::kBuffer, .binding = 0},
                                                   {.role = Role::kPositionInGrid}};

void note(llvm::Module& module, const std::string& text) {
  module.getOrInsertNamedMetadata("test.says")
      ->addOperand(llvm::MDNode::get(module.getContext(), llvm::MDString::get(module.getContext(), text)));
}

std::unique_ptr<llvm::TargetMachine> with_fused_multiply_add() {
  llvm::InitializeAllTargetInfos();
  llvm::InitializeAllTargets();
  llvm::InitializeAllTargetMCs();
  constexpr const char* kTriple = "x86_64-unknown-linux-gnu";
  std::string problem;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(kTriple, problem);
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(kTriple, "", "+fma", {}, {}));
}

// A kernel as the passes for many lanes see it: the last argument is the lane.
simd::Thread eight_lanes(llvm::Module& module) { return {module.getFunction("k"), 8}; }

using Pass = std::function<void(llvm::Module&)>;
const std::map<std::string, Pass>& passes() {
  static const std::map<std::string, Pass> kPasses = {
      {"elementary", [](llvm::Module& module) { lower_elementary(module, *with_fused_multiply_add()); }},
      {"math", [](llvm::Module& module) { lower_math(module, /*denormals_are_zero=*/false); }},
      {"alike-cases", join_alike_cases},
      {"vector-forms",
       [](llvm::Module& module) {
         const std::vector<VectorForm> forms = offer_vector_forms(module);
         // As the vectoriser would.
         llvm::Function* kernel = module.getFunction("k");
         llvm::Instruction* end = kernel->getEntryBlock().getTerminator();
         llvm::IRBuilder<>(end).CreateCall(module.getFunction("far.4"), {kernel->getArg(1), kernel->getArg(2)});
         write_vector_forms(module, forms);
       }},
      {"integers", lower_integers},
      {"conversions", lower_conversions},
      {"atomics", lower_atomics},
      {"function-constants", [](llvm::Module& module) { set_function_constants(module, {{3, 7}}); }},
      {"threadgroup-variables",
       [](llvm::Module& module) {
         ThreadgroupLayout layout;
         std::vector<ThreadgroupVariable> variables;
         place_threadgroup_variables(module, module.getFunction("k"), layout, variables);
         note(module, "bytes " + std::to_string(layout.bytes));
         for (const auto& [offset, size] : layout.cleared) {
           note(module, "cleared " + std::to_string(offset) + " " + std::to_string(size));
         }
       }},
      {"bfloats", spell_out_bfloats},
      {"halves", widen_halves},
      {"known-bytes",
       [](llvm::Module& module) {
         constexpr std::byte kZero{0};
         set_known_bytes(*module.getFunction("k"), kBufferAndPosition, {{0, {std::byte{7}, kZero, kZero, kZero}}});
       }},
      {"once",
       [](llvm::Module& module) {
         const auto target = with_fused_multiply_add();
         Optimiser optimiser(*target, /*soon=*/false);
         compute_once(*module.getFunction("k"), kBufferAndPosition, optimiser);
       }},
      {"simd-prepare",
       [](llvm::Module& module) {
         const auto target = with_fused_multiply_add();
         Optimiser optimiser(*target, /*soon=*/false);
         simd::prepare(*module.getFunction("k"), optimiser, /*unroll=*/false);
       }},
      {"simd-sides",
       [](llvm::Module& module) {
         const simd::Thread thread = eight_lanes(module);
         simd::share_sides(thread, simd::Facts(thread, /*guards=*/false), /*most=*/100);
       }},
      {"simd-rounds",
       [](llvm::Module& module) {
         const simd::Thread thread = eight_lanes(module);
         simd::share_rounds(thread, simd::Facts(thread, /*guards=*/false));
       }},
      {"simd-parts",
       [](llvm::Module& module) {
         const simd::Thread thread = eight_lanes(module);
         simd::set_meetings_apart(*thread.function);
         simd::take_parts(thread, simd::Facts(thread, /*guards=*/false), /*lanes=*/4, /*most_leaves=*/4,
                          /*some=*/false);
       }},
      {"side-by-side",
       [](llvm::Module& module) {
         const auto target = with_fused_multiply_add();
         Optimiser optimiser(*target, /*soon=*/false);
         for (llvm::Function& function : module) {
           llvm::FunctionPassManager passes;
           passes.addPass(SideBySidePass());
           passes.addPass(llvm::ADCEPass());
           optimiser.run(passes, function);
         }
       }},
      {"meeting-order", [](llvm::Module& module) { order_meetings(*module.getFunction("k")); }},
      {"matrices",
       [](llvm::Module& module) {
         const char* reason = "";
         if (!narrow_matrices(*module.getFunction("k"), reason)) note(module, reason);
       }},
      {"thread-loop",
       [](llvm::Module& module) { make_thread_loop(module, module.getFunction("k"), kBufferAndPosition); }},
      {"coroutines",
       [](llvm::Module& module) {
         std::vector<engine::MeetingPoint> points;
         ThreadCode thread;
         note(module, make_coroutines(module, module.getFunction("k"), kBufferAndPosition, points, thread));
         for (const engine::MeetingPoint& point : points) {
           note(module, "meeting " + std::to_string(static_cast<int>(point.meeting)) + " of " +
                            std::to_string(point.width) + " lanes, " + std::to_string(point.bytes) + " bytes");
         }
       }},
      {"validation",
       [](llvm::Module& module) {
         ThreadgroupLayout layout;
         std::vector<ThreadgroupVariable> variables;
         llvm::Function* kernel = place_threadgroup_variables(module, module.getFunction("k"), layout, variables);
         std::vector<engine::MeetingPoint> points;
         ThreadCode thread;
         note(module, make_coroutines(module, kernel, kBufferAndPosition, points, thread));
         ValidationTable table;
         insert_validation(thread, kBufferAndPosition, variables, table);
         for (const ValidationSite& site : table.sites) {
           std::string text = "site of kind " + std::to_string(static_cast<int>(site.kind));
           for (const std::uint32_t object : site.objects) {
             text += " parameter " + std::to_string(table.objects[object].parameter) + " " + table.objects[object].name;
           }
           note(module, text);
         }
       }},
  };
  return kPasses;
}

std::vector<fs::path> files() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(ANYMPS_LOWERING_TESTS)) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

class Lowering : public ::testing::TestWithParam<fs::path> {};

TEST_P(Lowering, LeavesWhatTheFileSays) {
  auto file = llvm::MemoryBuffer::getFile(GetParam().string());
  ASSERT_TRUE(file) << GetParam();
  const llvm::StringRef text = (*file)->getBuffer();
  llvm::SmallVector<llvm::StringRef> named;
  ASSERT_TRUE(llvm::Regex("; PASS: ([a-z-]+)").match(text, &named)) << "the file names no pass";
  const auto pass = passes().find(named[1].str());
  ASSERT_NE(pass, passes().end()) << "there is no pass " << named[1].str();

  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const auto module = llvm::parseAssembly((*file)->getMemBufferRef(), problem, context);
  ASSERT_TRUE(module) << problem.getMessage().str() << ", line " << problem.getLineNo();
  pass->second(*module);
  std::string after;
  llvm::raw_string_ostream stream(after);
  EXPECT_FALSE(llvm::verifyModule(*module, &stream)) << stream.str();
  after.clear();
  module->print(stream, nullptr);
  stream.flush();

  llvm::FileCheckRequest request;
  request.CheckPrefixes = {"CHECK"};
  llvm::FileCheck check(request);
  llvm::SourceMgr sources;
  const unsigned id = sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, "checks"), llvm::SMLoc());
  ASSERT_FALSE(check.readCheckFile(sources, sources.getMemoryBuffer(id)->getBuffer())) << "the checks cannot be read";
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(after, "module"), llvm::SMLoc());
  EXPECT_TRUE(check.checkInput(sources, sources.getMemoryBuffer(2)->getBuffer())) << after;
}

INSTANTIATE_TEST_SUITE_P(Files, Lowering, ::testing::ValuesIn(files()), [](const auto& info) {
  std::string name = info.param.stem().string();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace anymps::metal::lower
