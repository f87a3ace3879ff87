// Programs that ask too much of the compiler: each is refused with a message, in bounded time and memory.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "scratch_folder.h"
#include "source_runner.h"

namespace anymps::metal {
namespace {

using testing::refusal_of;

std::string times(std::size_t count, std::string_view text) {
  std::string all;
  all.reserve(count * text.size());
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

std::string numbered(int from, int to, const std::function<std::string(const std::string&, const std::string&)>& line) {
  std::string all;
  for (int i = from; i < to; ++i) all += line(std::to_string(i), std::to_string(i - 1)) + "\n";
  return all;
}

std::string kernel(const std::string& body) { return "kernel void k(device int* o) { " + body + " }\n"; }

struct Hostile {
  const char* name;
  std::string source;
  const char* said;  // part of the message
};

void expect_refused(const std::vector<Hostile>& programs) {
  for (const Hostile& program : programs) {
    const std::string said = refusal_of(program.source);
    EXPECT_NE(said.find("error: "), std::string::npos) << program.name;
    EXPECT_NE(said.find(program.said), std::string::npos) << program.name << ": " << said.substr(0, 2000);
  }
}

TEST(HostileSource, MacrosThatGrow) {
  const std::string doubling = "#define A0 1\n" + numbered(1, 40, [](const auto& n, const auto& before) {
                                 return "#define A" + n + " A" + before + " + A" + before;
                               });
  const char* too_long = "the expansion of this macro is too long";
  expect_refused({
      {"objects", doubling + kernel("o[0] = A39;"), too_long},
      {"in a condition", doubling + "#if A39\n#endif\n", too_long},
      {"functions", "#define D(x) x + x\n" + kernel("o[0] = " + times(40, "D(") + "1" + times(40, ")") + ";"),
       too_long},
      {"by name",
       "#define D(x) x x\n#define C(f, x) f(x)\n" +
           kernel("o[0] = " + times(40, "C(D, ") + "+1" + times(40, ")") + ";"),
       too_long},
      {"a condition of a macro", "#define N " + times(20000, "!") + "\n#if N 1\n#endif\n", too_long},
      {"nested calls", "#define D(x) x\n" + kernel("o[0] = " + times(100000, "D(") + "1" + times(100000, ")") + ";"),
       too_long},
  });
}

TEST(HostileSource, TextThatIsLong) {
  expect_refused({
      {"a literal", "constant char t[] = \"" + times(100, std::string(1 << 20, 'x')) + "\";", "the most is 16777216"},
      {"a condition", "#if " + times(100000, "!") + "1\n#endif\n", "the condition has more than"},
      {"a condition with comments", "#if " + times(20000, "!/*\n*/") + "1\n#endif\n", "the condition has more than"},
  });
}

TEST(HostileSource, WhatNests) {
  constexpr std::size_t kDeep = 100000;
  const char* parts = "has more than 10000 parts";
  const char* brackets = "bracket nesting level exceeded";
  expect_refused({
      {"parentheses", kernel("o[0] = " + times(2000, "(") + "1" + times(2000, ")") + ";"), brackets},
      {"blocks", kernel(times(kDeep, "{") + times(kDeep, "}")), brackets},
      {"lambdas", kernel(times(kDeep, "[]{") + times(kDeep, "}();")), brackets},
      {"signs", kernel("o[0] = " + times(kDeep, "- ") + "1;"), parts},
      {"sums", kernel("o[0] = 1" + times(kDeep, " + o[0]") + ";"), parts},
      {"assignments", kernel("int x; " + times(kDeep, "x = ") + "1;"), parts},
      {"commas", kernel("int x; x = 1" + times(kDeep, ", x = 1") + ";"), parts},
      {"choices", kernel("o[0] = " + times(kDeep, "o[0] ? 1 : ") + "1;"), parts},
      {"casts", kernel("o[0] = " + times(kDeep, "(int)") + "1;"), parts},
      {"ifs", kernel(times(kDeep, "if (o[0]) ") + ";"), parts},
      {"loops", kernel(times(kDeep, "for (;;) ") + ";"), parts},
      {"elses", kernel("if (o[0]) o[1] = 1;" + times(kDeep, " else if (o[0]) o[1] = 2;")), parts},
      {"pointers", "void f(int " + times(kDeep, "*") + " p);", parts},
      {"templates", "template <typename T> struct A {}; " + times(kDeep, "A<") + "int" + times(kDeep, ">") + " a;",
       parts},
  });
}

TEST(HostileSource, WhatNestsALittleLessIsCompiled) {
  EXPECT_EQ(refusal_of(kernel("o[0] = 1" + times(1600, " + o[0]") + ";")), "");
  EXPECT_EQ(refusal_of(kernel("o[0] = " + times(4000, "- ") + "o[1];")), "");
  EXPECT_EQ(refusal_of(kernel(times(500, "if (o[0]) ") + "o[1] = 1;")), "");
  EXPECT_EQ(refusal_of("constant int t[] = {" + times(100000, "1, ") + "};\n" + kernel("o[0] = t[o[0]];")), "");
}

TEST(HostileSource, TemplatesWithoutEnd) {
  expect_refused({
      {"depth", "template <int N> struct A { static constexpr int v = A<N + 1>::v; };\n" + kernel("o[0] = A<0>::v;"),
       "recursive template instantiation exceeded maximum depth"},
      {"types",
       "template <typename T> struct P {}; template <typename T> int f(T t) { return f(P<T>()); }\n" +
           kernel("o[0] = f(1);"),
       "recursive template instantiation exceeded maximum depth"},
      {"sequences",
       "using namespace metal; template <size_t... I> int f(index_sequence<I...>) { return 0; }\n" +
           kernel("o[0] = f(make_index_sequence<1000000000>());"),
       "a sequence of integers has at most"},
      {"Clang's own sequences",
       "template <typename T, T... I> struct S {};\n" + kernel("__make_integer_seq<S, int, 1000000000> s;"),
       "'__make_integer_seq' is not supported"},
      {"members",
       "template <typename T> struct P { T a, b; };\n" +
           kernel("device P<P<P<P<P<P<P<P<P<P<P<P<P<P<P<P<int>>>>>>>>>>>>>>>>* p = nullptr; *p = *p;"),
       "more than 10000 members"},
  });
}

TEST(HostileSource, ConstantsWithoutEnd) {
  expect_refused({
      {"a loop",
       "constexpr int f() { int x = 0; while (true) ++x; return x; }\n" + kernel("constexpr int z = f(); o[0] = z;"),
       "must be initialized by a constant expression"},
      {"recursion", "constexpr int f(int n) { return f(n + 1); }\n" + kernel("constexpr int z = f(0); o[0] = z;"),
       "must be initialized by a constant expression"},
      {"an array",
       "constexpr int f() { int x[1 << 28] = {}; x[5] = 1; return x[5]; }\n" +
           kernel("constexpr int y = f(); o[0] = y;"),
       "must be initialized by a constant expression"},
      {"integers of megabytes", kernel("_BitInt(8000000) x = 3; o[0] = x * x;"), "'_BitInt' is not supported"},
  });
}

TEST(HostileSource, VariablesThatAreLarge) {
  expect_refused({
      {"threadgroup", kernel("threadgroup float x[1 << 30]; o[0] = x[o[0]];"), "the most is 1048576"},
      {"thread", kernel("float x[1 << 29]; o[0] = x[o[0]];"), "the most is 1048576"},
      {"constant", "constant float x[1 << 30] = {1};\n" + kernel("o[0] = x[o[0]];"), "the most is 67108864"},
      {"a range", "constant float x[1 << 24] = {[0 ... 16777215] = 1};\n", "ends at 65535 at most"},
      {"a range by name",
       "template <int N> struct A { static void f() { float x[N + 1] = {[0 ... N] = 1}; } };\n" +
           kernel("A<(1 << 24)>::f();"),
       "ends at 65535 at most"},
      {"ranges of ranges", kernel("int x[999][999] = {[0 ... 998][0 ... 998] = 1}; o[0] = x[1][1];"),
       "a range within a range"},
      {"ranges in ranges", kernel("int x[999][999] = {[0 ... 998] = {[0 ... 998] = 1}}; o[0] = x[1][1];"),
       "a range within a range"},
  });
}

TEST(HostileSource, KernelsThatGrow) {
  expect_refused({
      {"calls",
       "int f0(int x) { return x * x + 1; }\n" +
           numbered(1, 30,
                    [](const auto& n, const auto& before) {
                      return "int f" + n + "(int x) { return f" + before + "(x) ^ f" + before + "(x + " + n + "); }";
                    }) +
           kernel("o[0] = f29(o[1]);"),
       "instructions once the functions that it calls are inlined"},
  });
}

// As Clang offers them to those who test it.
TEST(HostileSource, DebuggingPragmasDoNothing) {
  for (const char* what : {"assert", "crash", "parser_crash", "overflow_stack", "llvm_fatal_error", "llvm_unreachable",
                           "handle_crash", "captured", "dump", "macro", "diag_mapping"}) {
    EXPECT_EQ(refusal_of(std::string("#pragma clang __debug ") + what + "\n" + kernel("o[0] = 1;")), "") << what;
  }
}

TEST(HostileSource, FilesThatAreNotGivenCannotBeSeen) {
  expect_refused({
      {"a file", "#include \"/etc/passwd\"\n", "file not found"},
      {"a device", "#include </dev/zero>\n", "file not found"},
      {"itself", "#include __FILE__\n", "file not found"},
      {"embedded", "constant char x[] = {\n#embed \"/etc/passwd\"\n};\n",
       "program_source:2:1: error: '#embed' is not supported"},
      {"embedded in two lines", "constant char x[] = {\n#em\\\nbed \"/etc/passwd\"\n};\n", "'#embed' is not supported"},
      {"asked for", "#if __has_embed(\"/etc/passwd\")\n#endif\n", "'__has_embed' is not defined"},
  });
  EXPECT_EQ(refusal_of("#if __has_include(\"/etc/passwd\") || __has_include(</dev/zero>)\n#error seen\n#endif\n"), "");
}

TEST(HostileSource, FilesThatIncludeThemselves) {
  const ScratchFolder folder;
  std::ofstream(folder.path() / "self.h") << "#include \"self.h\"\n#include \"self.h\"\n";
  std::ofstream(folder.path() / "one.h") << "#include \"two.h\"\n";
  std::ofstream(folder.path() / "two.h") << "#include \"one.h\"\n";
  for (int i = 0; i < 30; ++i) {
    const std::string next = "#include \"n" + std::to_string(i + 1) + ".h\"\n";
    std::ofstream(folder.path() / ("n" + std::to_string(i) + ".h")) << next << next;
  }
  std::ofstream(folder.path() / "n30.h") << "";
  frontend::SourceOptions options;
  options.folders = {folder.path().string()};
  EXPECT_NE(refusal_of("#include \"self.h\"\n", options).find("nested too deeply"), std::string::npos);
  EXPECT_NE(refusal_of("#include \"one.h\"\n", options).find("nested too deeply"), std::string::npos);
  EXPECT_NE(refusal_of("#include \"n0.h\"\n", options).find("more files are included"), std::string::npos);
}

}  // namespace
}  // namespace anymps::metal
