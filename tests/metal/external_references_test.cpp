// Modules that reach for functions and variables of the process. None of them gets as far as to run.
#include <gtest/gtest.h>
#include <llvm/ExecutionEngine/Orc/CompileUtils.h>

#include <string>
#include <vector>

#include "air_text.h"
#include "metal/engine/compiler.h"
#include "metal/engine/jit_object.h"
#include "metal/engine/make_pipeline.h"
#include "metal/pipeline/kernel_error.h"
#include "metal/pipeline/pipeline.h"
#include "metal/support/host_target.h"
#include "source_runner.h"

namespace anymps::metal {
namespace {

using testing::AirText;
using testing::OwnedFunction;
using testing::refusal_of;

AirText kernel_with(const std::string& outside, const std::string& inside) {
  return AirText().buffers(1).outside(outside).body(inside + "  ret void\n");
}

std::string refusal_of_air(const AirText& air) {
  const OwnedFunction function(air);
  try {
    engine::make_pipeline(function.entry, {})->launch({}, {1, 1, 1}, {1, 1, 1});
  } catch (const std::runtime_error& refused) {
    return refused.what();
  }
  return "";
}

struct Attack {
  const char* how;
  std::string outside;
  std::string inside;
};

// Every way to name `symbol` as a function.
std::vector<Attack> attacks_by_function(const std::string& symbol) {
  const std::string f = "@\"" + symbol + "\"";
  const std::string declared = "declare i32 " + f + "(ptr)\n";
  return {
      {"a call", declared, "  call i32 " + f + "(ptr null)\n"},
      {"a tail call", declared, "  tail call i32 " + f + "(ptr null)\n"},
      {"a weak call", "declare extern_weak i32 " + f + "(ptr)\n", "  call i32 " + f + "(ptr null)\n"},
      {"a definition for the optimiser only",
       "define available_externally i32 " + f + "(ptr %p) noinline { ret i32 0 }\n",
       "  call i32 " + f + "(ptr null)\n"},
      {"a pointer in a variable", declared + "@table = internal global ptr " + f + "\n",
       "  %f = load ptr, ptr @table\n  call i32 %f(ptr null)\n"},
      {"a pointer in a constant", declared + "@table = internal constant [1 x ptr] [ptr " + f + "]\n",
       "  %f = load ptr, ptr @table\n  call i32 %f(ptr null)\n"},
      {"a choice", declared + "define internal i32 @own(ptr %p) { ret i32 0 }\n",
       "  %n = load i32, ptr addrspace(1) %b0\n  %c = icmp eq i32 %n, 0\n  %f = select i1 %c, ptr " + f +
           ", ptr @own\n  call i32 %f(ptr null)\n"},
      {"its address", declared, "  store ptr " + f + ", ptr addrspace(1) %b0\n"},
      {"its address as a number", declared, "  store i64 ptrtoint (ptr " + f + " to i64), ptr addrspace(1) %b0\n"},
      {"a list of what is used",
       declared + "@llvm.used = appending global [1 x ptr] [ptr " + f + "], section \"llvm.metadata\"\n", ""},
      {"a constructor",
       "declare void " + f +
           "()\n@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 1, ptr " + f +
           ", ptr null }]\n",
       ""},
      {"a personality", declared + "define internal void @own() personality ptr " + f + " { ret void }\n",
       "  call void @own()\n"},
      {"data in front of a function", declared + "define internal void @own() prologue ptr " + f + " { ret void }\n",
       "  call void @own()\n"},
      {"assembly of the module", "module asm \"call " + symbol + "\"\n", ""},
      {"assembly", "", "  call void asm sideeffect \"call " + symbol + "\", \"\"()\n"},
      {"an invocation",
       declared +
           "declare i32 @air.personality(...)\n"
           "define internal void @own() personality ptr @air.personality {\n  invoke i32 " +
           f +
           "(ptr null) to label %a unwind label %b\na:\n  ret void\nb:\n"
           "  %l = landingpad { ptr, i32 } cleanup\n  resume { ptr, i32 } %l\n}\n",
       "  call void @own()\n"},
  };
}

// Every way to name `symbol` as a variable.
std::vector<Attack> attacks_by_variable(const std::string& symbol) {
  const std::string v = "@\"" + symbol + "\"";
  return {
      {"a load", v + " = external global i32\n",
       "  %n = load i32, ptr " + v + "\n  store i32 %n, ptr addrspace(1) %b0\n"},
      {"a store", v + " = external global i32\n", "  store i32 1, ptr " + v + "\n"},
      {"in device memory", v + " = external addrspace(1) global i32\n", "  store i32 1, ptr addrspace(1) " + v + "\n"},
      {"a weak one", v + " = extern_weak global i32\n", "  store i32 1, ptr " + v + "\n"},
      {"within a constant",
       v + " = external global [8 x i32]\n@p = internal constant ptr getelementptr ([8 x i32], ptr " + v +
           ", i64 0, i64 3)\n",
       "  %p = load ptr, ptr @p\n  store i32 1, ptr %p\n"},
      {"a thread's", v + " = external thread_local global i32\n", "  store i32 1, ptr " + v + "\n"},
      {"a definition for the optimiser only", v + " = available_externally global i32 1\n",
       "  store i32 2, ptr " + v + "\n"},
  };
}

TEST(ExternalReferences, NoneOfTheProcessIsReached) {
  std::size_t tried = 0;
  const auto expect_refused = [&](const std::string& symbol, const std::vector<Attack>& attacks) {
    for (const Attack& attack : attacks) {
      EXPECT_NE(refusal_of_air(kernel_with(attack.outside, attack.inside)), "") << symbol << " by " << attack.how;
      ++tried;
    }
  };
  for (const char* symbol : {"system", "\\01system", "getenv", "puts", "dlopen", "exit", "memcpy", "sinf", "run",
                             "anymps_validate_access", "__libc_start_main"}) {
    expect_refused(symbol, attacks_by_function(symbol));
  }
  for (const char* symbol : {"optind", "\\01optind", "environ", "stdout", "system", "__stack_chk_guard"}) {
    expect_refused(symbol, attacks_by_variable(symbol));
  }
  EXPECT_GE(tried, 200U);
}

TEST(ExternalReferences, OtherWaysOut) {
  const char* own = "define internal void @own() { ret void }\n";
  const std::vector<Attack> attacks = {
      {"an alias", std::string(own) + "@other = alias void (), ptr @own\n", "  call void @other()\n"},
      {"an ifunc", "define internal ptr @resolve() { ret ptr null }\n@other = ifunc void (), ptr @resolve\n",
       "  call void @other()\n"},
      {"a number", "", "  call void inttoptr (i64 4096 to ptr)()\n"},
      {"a pointer from a buffer", "", "  %f = load ptr, ptr addrspace(1) %b0\n  call void %f()\n"},
      {"a function of AIR's that it defines", "define internal void @air.wg.barrier(i32 %a, i32 %b) { ret void }\n",
       "  call void @air.wg.barrier(i32 1, i32 1)\n"},
      {"a register", "declare i64 @llvm.read_register.i64(metadata)\n!900 = !{!\"sp\"}\n",
       "  %r = call i64 @llvm.read_register.i64(metadata !900)\n"},
      {"another register", "declare void @llvm.write_register.i64(metadata, i64)\n!900 = !{!\"sp\"}\n",
       "  call void @llvm.write_register.i64(metadata !900, i64 0)\n"},
      {"the return address", "declare ptr @llvm.returnaddress(i32)\n", "  %p = call ptr @llvm.returnaddress(i32 0)\n"},
      {"the stack", "declare void @llvm.stackrestore.p0(ptr)\n", "  call void @llvm.stackrestore.p0(ptr null)\n"},
      {"a trampoline", "declare void @llvm.init.trampoline(ptr, ptr, ptr)\n",
       "  call void @llvm.init.trampoline(ptr null, ptr null, ptr null)\n"},
      {"a long jump", "declare void @llvm.eh.sjlj.longjmp(ptr)\n", "  call void @llvm.eh.sjlj.longjmp(ptr null)\n"},
      {"a coroutine", "declare void @llvm.coro.resume(ptr)\n", "  call void @llvm.coro.resume(ptr null)\n"},
      {"an unknown intrinsic", "declare void @llvm.anymps.nothing()\n", "  call void @llvm.anymps.nothing()\n"},
  };
  for (const Attack& attack : attacks) {
    EXPECT_NE(refusal_of_air(kernel_with(attack.outside, attack.inside)), "") << attack.how;
  }
}

// LLVM writes calls of what these name. They are not followed, and the kernel does what it says.
TEST(ExternalReferences, AttributesThatNameFunctions) {
  for (const char* attributes :
       {"\"probe-stack\"=\"system\"", "\"fentry-call\"=\"true\"", "\"instrument-function-entry-inlined\"=\"system\"",
        "sspreq", "safestack", "shadowcallstack", "\"split-stack\"", "gc \"erlang\"", "naked", "presplitcoroutine"}) {
    const AirText air = kernel_with(std::string("define void @own(ptr addrspace(1) %p) noinline ") + attributes +
                                        " {\n  %a = alloca [65536 x i8]\n  store volatile i8 1, ptr %a\n"
                                        "  store float 7.0, ptr addrspace(1) %p\n  ret void\n}\n",
                                    "  call void @own(ptr addrspace(1) %b0)\n");
    const OwnedFunction function(air);
    float out = 0;
    pipeline::Launch launch;
    launch.buffers[0] = &out;
    ASSERT_NO_THROW(engine::make_pipeline(function.entry, {})->launch(launch, {1, 1, 1}, {1, 1, 1})) << attributes;
    EXPECT_EQ(out, 7) << attributes;
  }
}

// In front of the linker once more, whatever came before.
TEST(ExternalReferences, AnObjectIsLinkedToNothingElse) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const auto module = llvm::parseAssemblyString(
      "declare i32 @system(ptr)\ndefine void @run() {\n  call i32 @system(ptr null)\n  ret void\n}\n", problem,
      context);
  const auto target = llvm::cantFail(support::host_target().createTargetMachine());
  module->setDataLayout(target->createDataLayout());
  const auto object = llvm::cantFail(llvm::orc::SimpleCompiler(*target)(*module));
  const auto* begin = reinterpret_cast<const std::byte*>(object->getBufferStart());
  try {
    engine::Code::load({begin, object->getBufferSize()}, "k");
    FAIL() << "it was linked";
  } catch (const pipeline::KernelError& refused) {
    EXPECT_NE(std::string(refused.what()).find("'system'"), std::string::npos) << refused.what();
  }
}

// Names of functions that lowering writes or calls are no better and no worse than others.
TEST(ExternalReferences, AKernelMayHaveAnyName) {
  for (const char* name : {"run", "spawn", "sinf", "memcpy", "main", "anymps_far_sin", "anymps_validate_access"}) {
    const std::string source = std::string(
                                   "#include <metal_stdlib>\nusing namespace metal;\nfloat helper(float x) "
                                   "{ return asinh(x) + sin(x); }\nkernel void ") +
                               name + "(device float* o) { o[0] = helper(o[0]) - helper(o[0]) + 3; }\n";
    float out = 1;
    ASSERT_NO_THROW(testing::run_source(source, name, {&out})) << name;
    EXPECT_EQ(out, 3) << name;
  }
}

TEST(ExternalReferences, FromSource) {
  const std::string writes =
      refusal_of("extern device int opt __asm__(\"optind\");\nkernel void k(device int* o) { opt = 7; }\n");
  EXPECT_NE(writes.find("undefined symbol: variable 'opt' has no definition"), std::string::npos) << writes;
  const std::string takes =
      refusal_of("extern constant char s __asm__(\"system\");\nkernel void k(device ulong* o) { o[0] = (ulong)&s; }\n");
  EXPECT_NE(takes.find("undefined symbol: variable 's' has no definition"), std::string::npos) << takes;
}

}  // namespace
}  // namespace anymps::metal
