#include "metal/air/signature.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include <string>

namespace anymps::metal {
namespace {

// What each test changes; the rest is what Apple's compiler writes.
struct Parts {
  std::string parameters = "ptr addrspace(1) %out, ptr addrspace(2) %alpha, ptr addrspace(3) %scratch, <3 x i32> %at";
  std::string out =
      R"(!{i32 0, !"air.buffer", !"air.location_index", i32 4, i32 1, !"air.read_write", !"air.address_space", i32 1, )"
      R"(!"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"out"})";
  std::string alpha =
      R"(!{i32 1, !"air.function_constant", !10, !"air.buffer", !"air.buffer_size", i32 8, !"air.location_index", i32 1, )"
      R"(i32 1, !"air.read", !"air.address_space", i32 2, !"air.struct_type_info", !{i32 0, i32 4, i32 0, !"float", !"x"}, )"
      R"(!"air.arg_type_size", i32 8, !"air.arg_type_align_size", i32 8, !"air.arg_type_name", !"P", !"air.arg_name", !"alpha", !"air.arg_unused"})";
  std::string position =
      R"(!{i32 3, !"air.thread_position_in_grid", !"air.arg_type_name", !"uint3", !"air.arg_name", !"at"})";
  std::string limits = R"(, !{!"air.max_work_group_size", i32 256})";
  std::string constants = R"(!{ptr addrspace(2) @_Z5scale.MTL_FC_INIT_7_b, !"bool", !"scale", i32 7, i1 true})";
  std::string option = "air.compile.fast_math_disable";
  std::string outputs = "!{}";
};

std::string ir_of(const Parts& parts) {
  return R"(
@tile = internal addrspace(3) global [33 x i16] undef, align 2
@sum = internal addrspace(3) global i64 undef, align 8
@_Z5scale.MTL_FC_INIT_7_b = internal addrspace(2) externally_initialized constant i8 undef
@pred = internal addrspace(2) global i8 undef
define void @add()" +
         parts.parameters + R"() {
  ret void
}
!air.kernel = !{!0}
!air.function_constants = !{!9}
!air.compile_options = !{!7, !8}
!air.version = !{!5}
!air.language_version = !{!6}
!0 = !{ptr @add, )" +
         parts.outputs + ", !{!1, !2, !3, !4}" + parts.limits + R"(}
!1 = )" + parts.out +
         R"(
!2 = )" + parts.alpha +
         R"(
!3 = !{i32 2, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 3, !"air.arg_type_size", i32 2, !"air.arg_type_align_size", i32 2, !"air.arg_type_name", !"half", !"air.arg_name", !"scratch"}
!4 = )" + parts.position +
         R"(
!5 = !{i32 2, i32 6, i32 0}
!6 = !{!"Metal", i32 3, i32 1, i32 0}
!7 = !{!"air.compile.denorms_disable"}
!8 = !{!")" +
         parts.option +
         R"("}
!9 = )" + parts.constants +
         R"(
!10 = !{ptr addrspace(2) @pred, !"bool", !"scale"}
)";
}

air::Signature signature_of(const Parts& parts, std::string_view kernel = "add") {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const auto module = llvm::parseAssemblyString(ir_of(parts), problem, context);
  if (module == nullptr) throw std::logic_error("the test's own IR is wrong: " + problem.getMessage().str());
  return air::read_signature(*module, kernel);
}

std::string signature_refusal(const Parts& parts) {
  try {
    signature_of(parts);
  } catch (const air::AirError& error) {
    return error.what();
  }
  return "read";
}

TEST(Signature, TellsWhatAKernelAsksFor) {
  const air::Signature signature = signature_of({});
  EXPECT_EQ(signature.kernel, "add");
  ASSERT_EQ(signature.arguments.size(), 4U);
  const air::Argument& out = signature.arguments[0];
  EXPECT_EQ(out.kind, air::ArgumentKind::kBuffer);
  EXPECT_EQ(out.binding, 4U);
  EXPECT_EQ(out.access, air::Access::kReadWrite);
  EXPECT_EQ(out.address_space, air::kDeviceSpace);
  EXPECT_EQ(out.size, 4U);
  EXPECT_EQ(out.buffer_size, 0U);
  EXPECT_EQ(out.type_name, "float");
  EXPECT_EQ(out.name, "out");
  EXPECT_FALSE(out.unused);

  const air::Argument& alpha = signature.arguments[1];
  EXPECT_EQ(alpha.predicate, "pred");
  EXPECT_EQ(alpha.predicate_constant, "scale");
  EXPECT_EQ(alpha.access, air::Access::kRead);
  EXPECT_EQ(alpha.buffer_size, 8U);
  EXPECT_EQ(alpha.alignment, 8U);
  EXPECT_TRUE(alpha.unused);

  EXPECT_EQ(signature.arguments[2].kind, air::ArgumentKind::kThreadgroupBuffer);
  EXPECT_EQ(signature.arguments[3].kind, air::ArgumentKind::kThreadPositionInGrid);
  EXPECT_FALSE(air::is_bound(signature.arguments[3].kind));

  ASSERT_EQ(signature.constants.size(), 1U);
  EXPECT_EQ(signature.constants[0].id, 7U);
  EXPECT_EQ(signature.constants[0].name, "scale");
  EXPECT_EQ(signature.constants[0].type, "bool");
  EXPECT_EQ(signature.constants[0].global, "_Z5scale.MTL_FC_INIT_7_b");
  EXPECT_EQ(signature.static_threadgroup_bytes, 72U + 8U) << "66 bytes, up to a multiple of 8, and 8";
  EXPECT_EQ(signature.max_total_threads, 256U);
  EXPECT_TRUE(signature.denorms_disabled);
  EXPECT_TRUE(signature.fast_math_disabled);
  EXPECT_EQ(signature.air.minor, 6U);
  EXPECT_EQ(signature.metal.major, 3U);
}

TEST(Signature, MembersOfStructs) {
  Parts parts;
  const std::string one = R"(!{i32 0, i32 4, i32 0, !"float", !"x"})";
  const auto members = [&] { return signature_of(parts).arguments[1].members; };
  ASSERT_EQ(members().size(), 1U);
  EXPECT_EQ(members()[0].type_name + " " + members()[0].name, "float x");
  parts.alpha.replace(
      parts.alpha.find(one), one.size(),
      R"(!{!"air.struct_type_info", !{i32 0, i32 4, i32 5, !"int", !"__elems"}, i32 8, i32 20, i32 0, )"
      R"(!"metal::array", !"sizes", !"air.indirect_argument", i32 3, i32 28, i32 4, i32 0, !"int", !"n"})");
  ASSERT_EQ(members().size(), 2U);
  EXPECT_EQ(members()[0].offset, 8U);
  ASSERT_EQ(members()[0].members.size(), 1U);
  EXPECT_EQ(members()[0].members[0].count, 5U);
  EXPECT_EQ(members()[1].name, "n");
}

TEST(Signature, HasNoLimitWhereNoneIsGiven) {
  Parts parts;
  parts.limits = "";
  EXPECT_FALSE(signature_of(parts).max_total_threads.has_value());
}

TEST(Signature, EveryKindHasItsOwnName) {
  for (int kind = 0; kind <= static_cast<int>(air::ArgumentKind::kDispatchQuadgroupsPerThreadgroup); ++kind) {
    EXPECT_NE(air::name_of(static_cast<air::ArgumentKind>(kind)), "unknown") << kind;
  }
}

// A text says which kernel, and which key.
TEST(Signature, RefusesWhatItDoesNotKnow) {
  Parts parts;
  parts.position = R"(!{i32 3, !"air.amplification_id", !"air.arg_name", !"at"})";
  EXPECT_EQ(signature_refusal(parts),
            "add: !air.kernel, arguments, argument 3 is of a kind that is not known: `air.amplification_id`");
  parts = {};
  parts.position = R"(!{i32 3, !"air.thread_position_in_grid", !"air.colour", !"red"})";
  EXPECT_EQ(signature_refusal(parts),
            "add: !air.kernel, arguments, argument 3 has a key that is not known: `air.colour`");
  parts = {};
  parts.limits = R"(, !{!"air.required_size", i32 256})";
  EXPECT_NE(signature_refusal(parts).find("`air.required_size`"), std::string::npos);
  parts = {};
  parts.option = "air.compile.loose_math";
  EXPECT_NE(signature_refusal(parts).find("`air.compile.loose_math`"), std::string::npos);
}

TEST(Signature, RefusesAnotherKernel) { EXPECT_THROW(signature_of({}, "sub"), air::AirError); }

TEST(Signature, RefusesMetadataOfAnotherShape) {
  const auto with = [](std::string Parts::* part, const std::string& text) {
    Parts parts;
    parts.*part = text;
    return signature_refusal(parts);
  };
  EXPECT_NE(with(&Parts::out, R"(!{i32 9, !"air.buffer"})").find("parameter that the function does not have"),
            std::string::npos);
  EXPECT_NE(with(&Parts::out, R"(!{!"air.buffer"})").find("no number at place 0"), std::string::npos);
  EXPECT_NE(with(&Parts::out, R"(!{i32 0, null})").find("no text at place 1"), std::string::npos);
  EXPECT_NE(with(&Parts::out, R"(!{i32 0, !"air.function_constant", i32 3})").find("no node at place 2"),
            std::string::npos);
  EXPECT_NE(with(&Parts::out, R"(!{i32 0, !"air.buffer", !"air.location_index", i32 1})").find("ends at place 4"),
            std::string::npos);
  EXPECT_NE(with(&Parts::out, R"(!{i128 340282366920938463463374607431768211455, !"air.buffer"})").find("out of range"),
            std::string::npos);
  EXPECT_NE(with(&Parts::constants, R"(!{i32 1, !"bool", !"scale", i32 7, i1 true})").find("no function or variable"),
            std::string::npos);
  EXPECT_NE(with(&Parts::outputs, R"(!{!"colour"})").find("has outputs"), std::string::npos);
}

TEST(Signature, RefusesConstantsThatNoListNames) {
  Parts parts;
  parts.constants = R"(!{ptr addrspace(2) @pred, !"bool", !"scale", i32 7, i1 true})";
  EXPECT_NE(signature_refusal(parts).find("does not list `_Z5scale.MTL_FC_INIT_7_b`"), std::string::npos);
}

TEST(Signature, RefusesParametersThatDoNotFitTheirKind) {
  const auto with = [](const std::string& parameters) {
    Parts parts;
    parts.parameters = parameters;
    return signature_refusal(parts);
  };
  const std::string first = "ptr addrspace(1) %out, ptr addrspace(2) %alpha, ptr addrspace(3) %scratch, ";
  EXPECT_EQ(with(first + "<2 x i16> %at"), "read");
  EXPECT_NE(with(first + "<4 x i32> %at").find("has a type that no such argument has"), std::string::npos);
  EXPECT_NE(with(first + "float %at").find("has a type that no such argument has"), std::string::npos);
  EXPECT_NE(with(first + "i32 %at, i32 %more").find("has 4 arguments; the function has 5"), std::string::npos);
  EXPECT_NE(with("ptr addrspace(2) %out, ptr addrspace(2) %alpha, ptr addrspace(3) %scratch, i32 %at")
                .find("argument 0 is no pointer into address space 1"),
            std::string::npos);
}

TEST(Signature, RefusesOneParameterTwice) {
  Parts parts;
  parts.alpha = parts.out;
  EXPECT_NE(signature_refusal(parts).find("does not go through the parameters in order"), std::string::npos);
}

TEST(Signature, RefusesBindingsThatMetalDoesNotHave) {
  for (const char* place : {"i32 31, i32 1", "i32 30, i32 2", "i32 4294967295, i32 2", "i32 0, i32 0"}) {
    Parts parts;
    parts.out.replace(parts.out.find("i32 4, i32 1"), 12, place);
    EXPECT_NE(signature_refusal(parts).find("there are 31"), std::string::npos) << place;
  }
}

TEST(Module, IsReadFromBitcode) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const auto written = llvm::parseAssemblyString(ir_of({}), problem, context);
  ASSERT_NE(written, nullptr) << problem.getMessage().str();
  std::string bitcode;
  llvm::raw_string_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(*written, stream);
  const auto module = air::read_module(context, std::as_bytes(std::span(bitcode)), "add");
  EXPECT_EQ(air::read_signature(*module, "add").arguments.size(), 4U);
}

TEST(Module, RefusesWhatIsNoBitcode) {
  llvm::LLVMContext context;
  const std::string text = "no bitcode at all";
  try {
    air::read_module(context, std::as_bytes(std::span(text)), "add");
    FAIL();
  } catch (const air::AirError& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("add: its bitcode cannot be read: ")) << error.what();
  }
  EXPECT_THROW(air::read_module(context, {}, "add"), air::AirError);
}

}  // namespace
}  // namespace anymps::metal
