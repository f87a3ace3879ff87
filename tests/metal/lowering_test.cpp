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

#include "metal/lower/builtins/builtin_lowering.h"
#include "metal/lower/builtins/vector_variants.h"
#include "metal/lower/optimiser.h"
#include "metal/lower/support/kernel_parameter.h"
#include "metal/lower/support/pass_instrumentation.h"
#include "metal/lower/transform/fix_variable_sizes.h"
#include "metal/lower/transform/function_constants.h"
#include "metal/lower/transform/keep_interleaved.h"
#include "metal/lower/transform/merge_switch_cases.h"
#include "metal/lower/transform/narrow_matrices.h"
#include "metal/lower/transform/propagate_arguments.h"
#include "metal/lower/transform/sanitiser.h"
#include "metal/lower/transform/simdgroup_hazards.h"
#include "metal/lower/transform/thread_indices.h"
#include "metal/lower/transform/threadgroup_variables.h"
#include "metal/lower/transform/uniform_loop_once.h"
#include "metal/lower/vectorize/canonicalize.h"
#include "metal/lower/vectorize/outline_regions.h"
#include "metal/lower/workgroup/coroutines.h"
#include "metal/lower/workgroup/reconvergence_order.h"
#include "metal/lower/workgroup/work_item_loop.h"

namespace anymps::metal {
namespace {

namespace fs = std::filesystem;

// What a module looks like to the passes that make "run": a buffer at binding 0, then the position in the grid.
const std::vector<lower::support::Parameter> kBufferAndPosition = {
    {.role = lower::support::Role::kBuffer, .binding = 0}, {.role = lower::support::Role::kPositionInGrid}};

void note(llvm::Module& module, const std::string& text) {
  module.getOrInsertNamedMetadata("test.says")
      ->addOperand(llvm::MDNode::get(module.getContext(), llvm::MDString::get(module.getContext(), text)));
}

std::unique_ptr<llvm::TargetMachine> with_fused_multiply_add() {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  constexpr const char* kTriple = "x86_64-unknown-linux-gnu";
  std::string problem;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(kTriple, problem);
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(kTriple, "", "+fma", {}, {}));
}

// A kernel as the passes for many lanes see it: the last argument is the lane.
lower::vectorize::Thread eight_lanes(llvm::Module& module) { return {module.getFunction("k"), 8}; }

using Pass = std::function<void(llvm::Module&)>;
const std::map<std::string, Pass>& passes() {
  static const std::map<std::string, Pass> kPasses = {
      {"elementary-functions",
       [](llvm::Module& module) { lower::builtins::lower_elementary(module, *with_fused_multiply_add()); }},
      {"math", [](llvm::Module& module) { lower::builtins::lower_math(module, /*denormals_are_zero=*/false); }},
      {"merge-switch-cases", lower::transform::merge_switch_cases},
      {"vector-variants",
       [](llvm::Module& module) {
         const std::vector<lower::builtins::VectorVariant> forms = lower::builtins::declare_vector_variants(module);
         // As the vectoriser would.
         llvm::Function* kernel = module.getFunction("k");
         llvm::Instruction* end = kernel->getEntryBlock().getTerminator();
         llvm::IRBuilder<>(end).CreateCall(module.getFunction("far.4"), {kernel->getArg(1), kernel->getArg(2)});
         lower::builtins::define_vector_variants(module, forms);
       }},
      {"integers", lower::builtins::lower_integers},
      {"conversions", lower::builtins::lower_conversions},
      {"atomics", lower::builtins::lower_atomics},
      {"tensors",
       [](llvm::Module& module) {
         std::string refusal = lower::builtins::lower_tensors(module);
         refusal += lower::builtins::lower_tensor_operations(module);
         refusal += lower::transform::fix_variable_sizes(module);
         note(module, refusal);
       }},
      {"thread-indices",
       [](llvm::Module& module) {
         std::vector<lower::support::Parameter> parameters = kBufferAndPosition;
         lower::transform::add_thread_indices(module, module.getFunction("k"), parameters);
         for (const lower::support::Parameter& parameter : parameters)
           note(module, "role " + std::to_string(static_cast<int>(parameter.role)));
       }},
      {"function-constants", [](llvm::Module& module) { lower::transform::set_function_constants(module, {{3, 7}}); }},
      {"threadgroup-variables",
       [](llvm::Module& module) {
         lower::transform::ThreadgroupLayout layout;
         std::vector<lower::transform::ThreadgroupVariable> variables;
         lower::transform::place_threadgroup_variables(module, module.getFunction("k"), layout, variables);
         note(module, "bytes " + std::to_string(layout.bytes));
         for (const auto& [offset, size] : layout.cleared) {
           note(module, "cleared " + std::to_string(offset) + " " + std::to_string(size));
         }
       }},
      {"expand-bfloat", lower::builtins::expand_bfloat},
      {"promote-half", lower::builtins::promote_half},
      {"propagate-arguments",
       [](llvm::Module& module) {
         constexpr std::byte kZero{0};
         lower::transform::propagate_arguments(*module.getFunction("k"), kBufferAndPosition,
                                               {{0, {std::byte{7}, kZero, kZero, kZero}}});
       }},
      {"uniform-loop-once",
       [](llvm::Module& module) {
         const auto target = with_fused_multiply_add();
         lower::Optimiser optimiser(*target, /*soon=*/false);
         lower::transform::run_uniform_loops_once(*module.getFunction("k"), kBufferAndPosition, optimiser.runner());
       }},
      {"canonicalize",
       [](llvm::Module& module) {
         const auto target = with_fused_multiply_add();
         lower::Optimiser optimiser(*target, /*soon=*/false);
         lower::vectorize::prepare(*module.getFunction("k"), optimiser.runner(), /*unroll=*/false);
       }},
      {"specialize-uniform-branches",
       [](llvm::Module& module) {
         const lower::vectorize::Thread thread = eight_lanes(module);
         lower::vectorize::specialize_uniform_branches(thread, lower::vectorize::Divergence(thread, /*guards=*/false),
                                                       /*most=*/100);
       }},
      {"split-uniform-iterations",
       [](llvm::Module& module) {
         const lower::vectorize::Thread thread = eight_lanes(module);
         lower::vectorize::split_uniform_iterations(thread, lower::vectorize::Divergence(thread, /*guards=*/false));
       }},
      {"outline-regions",
       [](llvm::Module& module) {
         const lower::vectorize::Thread thread = eight_lanes(module);
         lower::vectorize::separate_cooperative_calls(*thread.function);
         lower::vectorize::outline_regions(thread, lower::vectorize::Divergence(thread, /*guards=*/false), /*lanes=*/4,
                                           /*most_leaves=*/4,
                                           /*some=*/false);
       }},
      {"keep-interleaved",
       [](llvm::Module& module) {
         const auto target = with_fused_multiply_add();
         lower::Optimiser optimiser(*target, /*soon=*/false);
         for (llvm::Function& function : module) {
           llvm::FunctionPassManager passes;
           passes.addPass(lower::transform::KeepInterleavedPass());
           passes.addPass(llvm::ADCEPass());
           optimiser.runner().run(passes, function);
         }
       }},
      {"simdgroup-hazards",
       [](llvm::Module& module) { lower::transform::separate_simdgroup_hazards(*module.getFunction("k")); }},
      {"reconvergence-order",
       [](llvm::Module& module) { lower::workgroup::order_for_reconvergence(*module.getFunction("k")); }},
      {"narrow-matrices",
       [](llvm::Module& module) {
         const char* reason = "";
         if (!lower::transform::narrow_matrices(*module.getFunction("k"), reason)) note(module, reason);
       }},
      {"work-item-loop",
       [](llvm::Module& module) {
         lower::workgroup::make_work_item_loop(module, module.getFunction("k"), kBufferAndPosition);
       }},
      {"coroutines",
       [](llvm::Module& module) {
         std::vector<abi::CooperativeCall> points;
         lower::workgroup::ThreadCoroutine thread;
         lower::workgroup::order_for_reconvergence(*module.getFunction("k"));
         note(module,
              lower::workgroup::make_coroutines(module, module.getFunction("k"), kBufferAndPosition, points, thread));
         for (const abi::CooperativeCall& point : points) {
           note(module, "meeting " + std::to_string(static_cast<int>(point.op)) + " of " + std::to_string(point.width) +
                            " lanes, " + std::to_string(point.bytes) + " bytes");
         }
       }},
      {"sanitiser",
       [](llvm::Module& module) {
         lower::transform::ThreadgroupLayout layout;
         std::vector<lower::transform::ThreadgroupVariable> variables;
         llvm::Function* kernel =
             lower::transform::place_threadgroup_variables(module, module.getFunction("k"), layout, variables);
         std::vector<abi::CooperativeCall> points;
         lower::workgroup::ThreadCoroutine thread;
         lower::workgroup::order_for_reconvergence(*kernel);
         note(module, lower::workgroup::make_coroutines(module, kernel, kBufferAndPosition, points, thread));
         lower::transform::ValidationTable table;
         lower::transform::insert_validation(thread, kBufferAndPosition, variables, table);
         for (const lower::transform::ValidationSite& site : table.sites) {
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
  EXPECT_TRUE(lower::support::pass_named(named[1])) << named[1].str() << " is not in passes.def";

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
}  // namespace anymps::metal
