// Metal source, from text to numbers.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "metal/engine/compiler.h"
#include "metal/pipeline/kernel_error.h"
#include "scratch_folder.h"
#include "source_runner.h"

namespace anymps::metal {
namespace {

using frontend::Program;
using frontend::SourceOptions;
using testing::Grid;
using testing::refusal_of;
using testing::results;
using testing::run_source;
using testing::SourceRun;

using Floats = std::vector<float>;
using Ints = std::vector<std::int32_t>;
using Names = std::vector<std::string>;

Names kernels_of(std::string_view source, const SourceOptions& options = {}) {
  return Program(source, options).kernels();
}

// ---- kernels and their names ----

TEST(Frontend, KernelsAreNamedByTheirFunctions) {
  EXPECT_EQ(kernels_of("kernel void a(device int* o) { *o = 1; } [[kernel]] void b(device int* o) { *o = 2; }"),
            (Names{"a", "b"}));
}

TEST(Frontend, FunctionsThatAreNoKernelsAreNotListed) {
  EXPECT_EQ(kernels_of("float f(float x) { return x; } vertex float4 v() { return float4(0); } kernel void k() {}"),
            Names{"k"});
}

TEST(Frontend, AHostNameReplacesTheFunctions) {
  EXPECT_EQ(kernels_of("[[host_name(\"other\")]] kernel void k(device int* o) { *o = 1; }"), Names{"other"});
}

TEST(Frontend, ExplicitInstantiationsHaveTheirHostNames) {
  const char* source = R"(
template <typename T> kernel void f(device T* o) { o[0] = T(sizeof(T)); }
template [[host_name("f_float")]] kernel void f<float>(device float*);
template [[host_name("f_short")]] [[kernel]] void f<short>(device short*);
template [[host_name("f_uint")]] [[kernel]] decltype(f<uint>) f<uint>;
)";
  EXPECT_EQ(kernels_of(source), (Names{"f_float", "f_short", "f_uint"}));
  float four = 0;
  run_source(source, "f_float", {&four});
  EXPECT_EQ(four, 4);
  std::int16_t two = 0;
  run_source(source, "f_short", {&two});
  EXPECT_EQ(two, 2);
  std::uint32_t also_four = 0;
  run_source(source, "f_uint", {&also_four});
  EXPECT_EQ(also_four, 4U);
}

TEST(Frontend, KernelsInNamespacesAndByMacros) {
  EXPECT_EQ(kernels_of("#define K(n) kernel void n(device int* o) { *o = 1; }\nK(a) K(b)\n"), (Names{"a", "b"}));
  EXPECT_EQ(kernels_of("namespace n { kernel void k(device int* o) { *o = 1; } }"), Names{"n::k"});
}

// ---- bindings ----

TEST(Frontend, BuffersAreBoundInOrder) {
  Ints out(1);
  Ints in{5};
  run_source("kernel void k(device int* o, constant int& i) { *o = i; }", "k", {out.data(), in.data()});
  EXPECT_EQ(out[0], 5);
}

TEST(Frontend, BuffersAreBoundByIndex) {
  Ints out(1);
  Ints in{6};
  run_source("kernel void k(device int* o [[buffer(1)]], const device int* i [[buffer(0)]]) { *o = *i; }", "k",
             {in.data(), out.data()});
  EXPECT_EQ(out[0], 6);
}

TEST(Frontend, BuffersWithoutAnIndexTakeTheFirstThatIsFree) {
  Ints a{1};
  Ints b{2};
  Ints c{3};
  Ints out(3);
  run_source(
      "kernel void k(device int* o, constant int& x [[buffer(0)]], constant int& y, constant int& z [[buffer(2)]])"
      "{ o[0] = x; o[1] = y; o[2] = z; }",
      "k", {a.data(), out.data(), c.data(), b.data()});
  EXPECT_EQ(out, (Ints{1, 2, 3}));
}

TEST(Frontend, IndicesMayBeExpressions) {
  Ints out(1);
  run_source("constant constexpr int kOut = 2; kernel void k(device int* o [[buffer(kOut + 1)]]) { *o = 7; }", "k",
             {nullptr, nullptr, nullptr, out.data()});
  EXPECT_EQ(out[0], 7);
}

TEST(Frontend, PositionsOfAllWidths) {
  const std::vector<std::uint32_t> out = results<std::uint32_t>(R"(
kernel void k(device uint* o, uint3 p [[thread_position_in_grid]], ushort2 t [[thread_position_in_threadgroup]],
              uint lane [[thread_index_in_simdgroup]], ushort n [[threads_per_threadgroup]]) {
  o[p.x] = p.x * 1000000 + t.x * 10000 + lane * 100 + n;
})",
                                                                8, {8, 4});
  EXPECT_EQ(out[6], 6020204U);
}

// ---- function constants ----

TEST(Frontend, FunctionConstantsAreSetWhenAKernelIsMade) {
  const char* source = R"(
constant int n [[function_constant(3)]];
constant bool negative [[function_constant(4)]];
constant float scale [[function_constant(5)]];
kernel void k(device float* o) { o[0] = n; o[1] = negative ? -1 : 1; o[2] = scale; }
)";
  SourceRun how;
  how.lowering.constants = {{3, 42}, {4, 1}, {5, std::bit_cast<std::uint32_t>(0.5F)}};
  EXPECT_EQ(results<float>(source, 3, {}, how), (Floats{42, -1, 0.5F}));
  how.lowering.constants = {{3, 7}, {4, 0}, {5, std::bit_cast<std::uint32_t>(2.0F)}};
  EXPECT_EQ(results<float>(source, 3, {}, how), (Floats{7, 1, 2}));
}

TEST(Frontend, FunctionConstantsThatDoNotMatterAreForgotten) {
  EXPECT_EQ(results<std::int32_t>(R"(
constant int n [[function_constant(0)]];
kernel void k(device int* o) { int x = n; o[0] = 7; if (o[0] == 8) o[1] = x - x; }
)",
                                  1),
            (Ints{7}));
}

// ---- threadgroup memory ----

// As Metal does it: the source compiles, and a pipeline cannot be made.
TEST(Frontend, MoreThreadgroupMemoryThanThereIsIsRefusedByThePipeline) {
  const std::string source = R"(
kernel void k(device int* o, uint i [[thread_position_in_threadgroup]]) {
  threadgroup int x[8320];
  x[i] = o[i];
  o[i] = x[o[i]];
}
)";
  EXPECT_EQ(refusal_of(source), "");
  try {
    results<std::int32_t>(source, 1);
    ADD_FAILURE() << "a pipeline was made";
  } catch (const pipeline::KernelError& error) {
    EXPECT_STREQ(error.what(),
                 "k: Threadgroup memory size (33280) exceeds the maximum threadgroup memory allowed (32768)");
  }
}

// Each thread writes its own, and reads its neighbour's behind a barrier.
std::string exchange(const std::string& declaration, const std::string& element) {
  return "using namespace metal;\nstruct Pair { int a, b; };\ntemplate <typename T, int N> struct Box { T data[N]; };\n"
         "kernel void k(device int* o, uint i [[thread_position_in_threadgroup]]) {\n  " +
         declaration + "\n  " + element +
         "[i] = 10 * i;\n  threadgroup_barrier(mem_flags::mem_threadgroup);\n  o[i] = " + element + "[i ^ 1];\n}\n";
}

TEST(Frontend, ThreadgroupVariablesOfAllShapesAreShared) {
  const std::vector<std::pair<std::string, std::string>> shapes = {
      {"threadgroup int x[4];", "x"},
      {"threadgroup int x[2][4];", "x[1]"},
      {"threadgroup Box<int, 4> x;", "x.data"},
      {"threadgroup Box<Box<int, 4>, 2> x[3];", "x[2].data[1].data"},
      {"threadgroup array<int, 4> x;", "x"},
      {"alignas(16) threadgroup int x[4];", "x"},
      {"threadgroup int y[3], x[4];", "x"},
      {"threadgroup int y, x[4], z;", "x"},
      {"int threadgroup x[4];", "x"},
      {"static threadgroup int x[4];", "x"},
      {"volatile threadgroup int x[4];", "x"},
      {"threadgroup int4 v; threadgroup int* x = (threadgroup int*)&v;", "x"},
      {"constexpr int n = 4; threadgroup int x[n > 3 ? n : 1];", "x"},
      {"threadgroup decltype(Pair().a) x[4];", "x"},
  };
  for (const auto& [declaration, element] : shapes) {
    EXPECT_EQ(results<std::int32_t>(exchange(declaration, element), 4, {4, 4}), (Ints{10, 0, 30, 20})) << declaration;
  }
}

TEST(Frontend, ThreadgroupVariablesOfTemplatesAreEachTheirOwn) {
  EXPECT_EQ(results<std::int32_t>(R"(
using namespace metal;
template <int N> int neighbour(uint i) {
  threadgroup int x[4];
  x[i] = N * i;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return x[i ^ 1];
}
kernel void k(device int* o, uint i [[thread_position_in_threadgroup]]) { o[i] = neighbour<1>(i) + neighbour<10>(i); }
)",
                                  4, {4, 4}),
            (Ints{11, 0, 33, 22}));
}

TEST(Frontend, InitialisedThreadgroupVariablesAreClearedForEachThreadgroup) {
  EXPECT_EQ(results<std::int32_t>(R"(
using namespace metal;
kernel void k(device int* o, uint i [[thread_position_in_grid]]) {
  threadgroup int x[2] = {0, 0};
  x[1] += 1;
  o[i] = x[0] * 10 + x[1];
}
)",
                                  3, {3, 1}),
            (Ints{1, 1, 1}));
}

TEST(Frontend, ThreadgroupArgumentsHaveTheLaunchsSize) {
  SourceRun how;
  how.threadgroup_bytes = {16, 16};
  EXPECT_EQ(results<std::int32_t>(R"(
using namespace metal;
kernel void k(device int* o, threadgroup int* x [[threadgroup(0)]], threadgroup int* y [[threadgroup(1)]],
              uint i [[thread_position_in_threadgroup]]) {
  x[i] = i;
  y[i] = 10 * i;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  o[i] = x[i ^ 1] + y[i ^ 2];
}
)",
                                  4, {4, 4}, how),
            (Ints{21, 30, 3, 12}));
}

// ---- address spaces ----

TEST(Frontend, ArrayParametersArePointersIntoTheirSpace) {
  EXPECT_EQ(results<std::int32_t>(R"(
using namespace metal;
constant int table[2][3] = {{1, 2, 3}, {4, 5, 6}};
int of_constant(constant int t[2][3]) { return t[1][2]; }
int of_threadgroup(threadgroup int t[4]) { return t[3]; }
int of_device(device int t[2]) { return t[1]; }
int of_thread(thread int t[2]) { return t[1]; }
kernel void k(device int* o) {
  threadgroup int x[4];
  x[3] = 30;
  int y[2] = {100, 200};
  o[1] = 1000;
  o[0] = of_constant(table) + of_threadgroup(x) + of_device(o) + of_thread(y);
}
)",
                                  2)[0],
            1236);
}

TEST(Frontend, OverloadsDifferByAddressSpace) {
  EXPECT_EQ(results<std::int32_t>(R"(
int which(device int*) { return 1; }
int which(constant int*) { return 2; }
int which(threadgroup int*) { return 3; }
int which(thread int*) { return 4; }
template <typename T> int of(device T&) { return 1; }
template <typename T> int of(constant T&) { return 2; }
template <typename T> int of(threadgroup T&) { return 3; }
template <typename T> int of(thread T&) { return 4; }
constant int c = 5;
kernel void k(device int* o) {
  threadgroup int t;
  int p = 0;
  t = 0;
  o[0] = which(o) * 1000 + which(&c) * 100 + which(&t) * 10 + which(&p);
  o[1] = of(o[0]) * 1000 + of(c) * 100 + of(t) * 10 + of(p);
}
)",
                                  2),
            (Ints{1234, 1234}));
}

TEST(Frontend, ReferencesAndPointersInEachSpace) {
  EXPECT_EQ(results<std::int32_t>(R"(
void to_device(device int& x, int v) { x = v; }
void to_threadgroup(threadgroup int& x, int v) { x = v; }
void to_thread(thread int& x, int v) { x = v; }
int read(constant int& x) { return x; }
constant int four = 4;
kernel void k(device int* o) {
  threadgroup int t;
  int p;
  to_device(o[0], 1);
  to_threadgroup(t, 2);
  to_thread(p, 3);
  device int& d = o[1];
  d = t;
  thread int* q = &p;
  o[2] = *q;
  o[3] = read(four);
}
)",
                                  4),
            (Ints{1, 2, 3, 4}));
}

TEST(Frontend, MethodsMayBeQualifiedByAddressSpaces) {
  EXPECT_EQ(results<std::int32_t>(R"(
struct Cell {
  int x;
  int get() const thread { return x; }
  int get() const device { return x; }
  int get() const threadgroup { return x; }
  int get() const constant { return x; }
  void set(int v) device { x = v; }
  void set(int v) thread { x = v; }
};
constant Cell c = {1};
kernel void k(device Cell* o) {
  Cell p;
  p.set(2);
  o[0].set(10 * c.get() + p.get());
  o[1].set(o[0].get());
}
)",
                                  2),
            (Ints{12, 12}));
}

TEST(Frontend, TextsLieInConstantMemory) {
  EXPECT_EQ(results<std::int32_t>(R"(
int length(constant char* s) { int n = 0; while (s[n]) ++n; return n; }
constant char name[] = "four";
kernel void k(device int* o) {
  o[0] = length("seventy");
  o[1] = length(name);
}
)",
                                  2),
            (Ints{7, 4}));
}

TEST(Frontend, ConstantTables) {
  EXPECT_EQ(results<float>(R"(
struct Entry { float a; int b; };
constant float plain[] = {1, 2, 3};
constant Entry entries[2] = {{4, 5}, {6, 7}};
constant constexpr float4 vector = float4(8, 9, 10, 11);
static constant constexpr int once = 12;
kernel void k(device float* o) { o[0] = plain[2]; o[1] = entries[1].a; o[2] = vector.w; o[3] = once; }
)",
                           4),
            (Floats{3, 6, 11, 12}));
}

// ---- literals ----

TEST(Frontend, LiteralsHaveMetalsTypesAndValues) {
  const std::vector<std::pair<const char*, double>> floats = {
      {"1.0", 1}, {"1e3", 1000},       {"0x1p3", 8},     {".5", 0.5},     {"1.f", 1},
      {"5.", 5},  {"1'000.5", 1000.5}, {"1e-2F", 0.01F}, {"0x1.8p1f", 3},
  };
  for (const auto& [literal, value] : floats) {
    const std::string source = std::string("kernel void k(device float* o) { o[0] = ") + literal +
                               "; static_assert(metal::is_same_v<decltype(" + literal + "), float>, \"\"); }";
    EXPECT_EQ(results<float>(source, 1)[0], static_cast<float>(value)) << literal;
  }
  const std::vector<std::tuple<const char*, const char*, double>> others = {
      {"1.0h", "half", 1},
      {"1h", "half", 1},
      {"2.5H", "half", 2.5},
      {"1.0bf", "bfloat", 1},
      {"2bf", "bfloat", 2},
      {"1u", "uint", 1},
      {"0b11", "int", 3},
      {"0x1f", "int", 31},
      {"0xbf", "int", 191},
      {"1'000", "int", 1000},
      {"7ul", "ulong", 7},
      {"7l", "long", 7},
      {"0xFFFFFFFFu", "uint", 4294967295.0},
      {"010", "int", 8},
  };
  for (const auto& [literal, type, value] : others) {
    const std::string source = std::string("kernel void k(device float* o) { o[0] = float(") + literal +
                               "); static_assert(metal::is_same_v<decltype(" + literal + "), " + type + ">, \"\"); }";
    EXPECT_EQ(results<float>(source, 1)[0], static_cast<float>(value)) << literal;
  }
}

// ---- C++ ----

TEST(Frontend, Lambdas) {
  EXPECT_EQ(results<std::int32_t>(R"(
template <typename F> int twice(F f, int x) { return f(f(x)); }
kernel void k(device int* o) {
  int by = 3;
  auto add = [=](int x) { return x + by; };
  auto store = [&](int at, int x) { o[at] = x; };
  store(0, twice(add, 1));
  store(1, twice([](int x) { return x * x; }, 3));
}
)",
                                  2),
            (Ints{7, 81}));
}

TEST(Frontend, FunctionsAsTemplateArguments) {
  EXPECT_EQ(results<float>(R"(
float half_of(float x) { return x / 2; }
template <float (*f)(float)> float apply(float x) { return f(x); }
kernel void k(device float* o) { o[0] = apply<half_of>(5); }
)",
                           1)[0],
            2.5F);
}

TEST(Frontend, FunctionPointersThatAreKnownOnceInlined) {
  EXPECT_EQ(results<float>(R"(
float half_of(float x) { return x / 2; }
float apply(float (*f)(float), float x) { return f(x); }
kernel void k(device float* o) { o[0] = apply(half_of, 5); }
)",
                           1)[0],
            2.5F);
}

TEST(Frontend, PragmasOfMetal) {
  EXPECT_EQ(results<float>(R"(
#pragma METAL fp contract(off)
#pragma METAL fp math_mode(safe)
#pragma METAL internals : enable
kernel void k(device float* o) { o[0] = 2; }
)",
                           1)[0],
            2);
  EXPECT_NE(Program("#pragma METAL fp contract(maybe)\n", {}).warnings().find("program_source:1:1: warning: "),
            std::string::npos);
}

TEST(Frontend, ContractionIsAsThePragmaSays) {
  const auto of = [](const std::string& mode) {
    Floats out = {1 + 0x1p-12F, 0};
    run_source("#pragma METAL fp contract(" + mode +
                   ")\nkernel void k(device float* o) { o[1] = o[0] * o[0] - (1 + 0x1p-11); }",
               "k", {out.data()});
    return out[1];
  };
  EXPECT_EQ(of("off"), 0);
  EXPECT_EQ(of("fast"), 0x1p-24F);
}

// ---- options ----

TEST(Frontend, TheVersionIsTheOneAskedFor) {
  for (const unsigned version : {300U, 310U, 320U, 400U}) {
    SourceRun how;
    how.options.version = version;
    EXPECT_EQ(results<std::int32_t>("kernel void k(device int* o) { o[0] = __METAL_VERSION__; }", 1, {}, how)[0],
              static_cast<std::int32_t>(version));
  }
}

TEST(Frontend, DefinesAreMacros) {
  SourceRun how;
  how.options.defines = {{"TILE", "16"}, {"T", "int"}};
  EXPECT_EQ(results<std::int32_t>("kernel void k(device T* o) { o[0] = TILE; }", 1, {}, how)[0], 16);
}

TEST(Frontend, FastMathIsSaidToTheSource) {
  for (const bool fast : {false, true}) {
    SourceRun how;
    how.options.fast_math = fast;
    EXPECT_EQ(results<std::int32_t>("kernel void k(device int* o) { o[0] = __METAL_FAST_MATH__; }", 1, {}, how)[0],
              fast ? 1 : 0);
  }
}

TEST(Frontend, TheSourcesNameIsInItsMessages) {
  SourceOptions options;
  options.name = "softmax.metal";
  EXPECT_EQ(refusal_of("wrong;", options).find("softmax.metal:1:1: error: "), 0U);
}

TEST(Frontend, WarningsAreKeptWithSuccess) {
  const Program program("kernel void k(device int* o) { int x; o[0] = x = 1, 2; }\n#warning careful\n", {});
  EXPECT_EQ(program.kernels(), Names{"k"});
  EXPECT_NE(program.warnings().find("program_source:2:2: warning: careful"), std::string::npos) << program.warnings();
  // Found in the cache, it still has them.
  EXPECT_EQ(Program("kernel void k(device int* o) { int x; o[0] = x = 1, 2; }\n#warning careful\n", {}).warnings(),
            program.warnings());
}

TEST(Frontend, DeprecatedFormsAreWarnedOf) {
  const Program program(
      "[[deprecated]] int old() { return 1; }\n"
      "kernel void k(device int* o, uint w [[thread_execution_width]]) { o[0] = w + old(); }\n",
      {});
  EXPECT_NE(program.warnings().find("2:39: warning: 'thread_execution_width' is deprecated"), std::string::npos)
      << program.warnings();
  EXPECT_NE(program.warnings().find("warning: 'old' is deprecated"), std::string::npos) << program.warnings();
}

// ---- files ----

class FrontendFiles : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((folder_.path() / name).parent_path());
    std::ofstream(folder_.path() / name) << text;
  }
  SourceOptions options() const {
    SourceOptions options;
    options.folders = {(folder_.path() / "include").string()};
    return options;
  }
  std::int32_t value(const std::string& source) const {
    SourceRun how;
    how.options = options();
    return results<std::int32_t>(source, 1, {}, how)[0];
  }
  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  ScratchFolder folder_;
};

constexpr char kIncludesAnswer[] = "#include \"answer.h\"\nkernel void k(device int* o) { o[0] = answer; }";

TEST_F(FrontendFiles, AreIncludedFromFoldersThatTheCallerNames) {
  write("include/answer.h", "#pragma once\n#include <deep/er.h>\nconstant int answer = DEEPER;\n");
  write("include/deep/er.h", "#define DEEPER 42\n");
  EXPECT_EQ(value(kIncludesAnswer), 42);
}

TEST_F(FrontendFiles, ThatChangeAreSeen) {
  write("include/answer.h", "constant int answer = 1;\n");
  EXPECT_EQ(value(kIncludesAnswer), 1);
  write("include/answer.h", "constant int answer = 2;\n");
  EXPECT_EQ(value(kIncludesAnswer), 2);
}

TEST_F(FrontendFiles, HaveTheirErrorsInThem) {
  write("include/answer.h", "\nint wrong = ;\n");
  const std::string said = refusal_of(kIncludesAnswer, options());
  EXPECT_NE(said.find("include/answer.h:2:13: error: expected expression"), std::string::npos) << said;
}

TEST_F(FrontendFiles, OutsideThoseFoldersAreNotThere) {
  write("include/inside.h", "");
  write("secret.h", "constant int secret = 1;\n");
  std::filesystem::create_symlink(path() / "secret.h", path() / "include" / "link.h");
  for (const std::string name : {"../secret.h", "link.h", "../../etc/passwd", "/etc/passwd", "/dev/zero",
                                 "/proc/self/environ", "inside.h/../../secret.h"}) {
    const std::string said = refusal_of("#include \"" + name + "\"\n", options());
    EXPECT_NE(said.find("file not found"), std::string::npos) << name << ": " << said;
    EXPECT_NE(
        refusal_of("#if !__has_include(\"" + name + "\")\n#error not there\n#endif\n", options()).find("not there"),
        std::string::npos)
        << name;
    EXPECT_NE(refusal_of("constant char x[] = {\n#embed \"" + name + "\" limit(4)\n};\n", options()), "") << name;
  }
}

// ---- many kernels at once ----

// More than are made together, with a helper that all call, a constant that some use and state of their own.
std::string many_kernels(int count) {
  std::string source = R"(
#include <metal_stdlib>
using namespace metal;
constant bool wide [[function_constant(0)]];
constant int table[4] = {3, 1, 4, 1};
template <int N> int helper(int x) { return x * N + table[N % 4]; }
)";
  for (int i = 0; i < count; ++i) {
    const std::string n = std::to_string(i);
    source += "kernel void k" + n + "(device int* o) { o[0] = helper<" + n + ">(o[0])" + (i % 3 == 0 ? " + wide" : "") +
              "; }\n";
  }
  return source;
}

TEST(FrontendMany, EachIsWhatItIsByItself) {
  const Program program(many_kernels(50), {});
  const std::vector<std::vector<std::byte>> modules = program.air_of(program.kernels());
  ASSERT_EQ(modules.size(), 50U);
  for (std::size_t i = 0; i < modules.size(); ++i) EXPECT_EQ(modules[i], program.air_of(program.kernels()[i])) << i;
}

TEST(FrontendMany, TheFirstThatFailsIsNamed) {
  const std::string call = "(device Pointer* p, device int* o) { o[0] = p[0](1); }\n";
  const Program program(
      many_kernels(40) + "using Pointer = int (*)(int);\nkernel void a" + call + "kernel void b" + call, {});
  try {
    (void)program.air_of(program.kernels());
    FAIL() << "nothing was refused";
  } catch (const frontend::CompileError& error) {
    EXPECT_NE(std::string(error.what()).find("kernel 'a': it calls a function by a pointer"), std::string::npos)
        << error.what();
  }
}

// ---- caches ----

TEST(FrontendCache, ASourceIsCompiledOnce) {
  // A source of its own, so that no other test has compiled it.
  const std::string source = "kernel void k(device int* o) { o[0] = 271828; }\n#warning once\n";
  const Program first(source, {});
  const Program second(source, {});
  EXPECT_EQ(first.air_of("k"), second.air_of("k"));
}

TEST(FrontendCache, OptionsAreToldApart) {
  const std::string source = "kernel void k(device int* o) { o[0] = N; }";
  for (const char* n : {"1", "2", "1"}) {
    SourceRun how;
    how.options.defines = {{"N", n}};
    EXPECT_EQ(results<std::int32_t>(source, 1, {}, how)[0], std::stoi(n));
  }
}

}  // namespace
}  // namespace anymps::metal
