// Kernels with a fault that their code shows, and others like them without.
#include "metal/lint/lint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "air_text.h"

namespace anymps::metal {
namespace {

using testing::AirText;
using testing::OwnedFunction;

constexpr const char* kLintOutside = R"(
@shared = internal addrspace(3) global [64 x float] undef, align 4
@rows = internal addrspace(3) global [2 x [64 x float]] undef, align 4
@one = internal addrspace(3) global float undef, align 4
declare void @air.wg.barrier(i32, i32) #0
declare void @air.simdgroup.barrier(i32, i32) #0
declare float @air.simd_sum.f32(float) #0
declare i32 @air.min.u.i32(i32, i32)
attributes #0 = { convergent }
)";

// What the bodies below use: %own and %opposite in @shared, %first in @shared, the place of the simdgroup and of the
// lane, and %to and %x, of buffer 0 and 1.
constexpr const char* kLintPrelude = R"(
  %l = zext i32 %thread_index_in_threadgroup to i64
  %mirror = sub i64 63, %l
  %own = getelementptr [64 x float], ptr addrspace(3) @shared, i64 0, i64 %l
  %opposite = getelementptr [64 x float], ptr addrspace(3) @shared, i64 0, i64 %mirror
  %next_l = add i64 %l, 1
  %next = getelementptr [64 x float], ptr addrspace(3) @shared, i64 0, i64 %next_l
  %simd = zext i32 %simdgroup_index_in_threadgroup to i64
  %lane = zext i32 %thread_index_in_simdgroup to i64
  %of_simd = getelementptr [64 x float], ptr addrspace(3) @shared, i64 0, i64 %simd
  %of_lane = getelementptr [64 x float], ptr addrspace(3) @shared, i64 0, i64 %lane
  %is_first = icmp eq i32 %thread_index_in_threadgroup, 0
  %is_first_lane = icmp eq i32 %thread_index_in_simdgroup, 0
  %is_first_simd = icmp eq i32 %simdgroup_index_in_threadgroup, 0
  %to = getelementptr float, ptr addrspace(1) %b0, i64 %l
  %from = getelementptr float, ptr addrspace(1) %b1, i64 %l
  %x = load float, ptr addrspace(1) %from, align 4
)";

std::vector<lint::Finding> findings_of(const AirText& air) {
  return lint::lint_kernel(OwnedFunction(air).entry).findings;
}

std::vector<std::string> subjects(const std::vector<lint::Finding>& findings, std::string_view lint) {
  std::vector<std::string> result;
  for (const lint::Finding& finding : findings) {
    if (finding.lint == lint) result.push_back(finding.subject);
  }
  return result;
}

std::vector<std::string> missing_barriers(const std::string& body, const std::string& prelude = kLintPrelude) {
  const auto findings = findings_of(AirText()
                                        .buffers(2)
                                        .builtin("thread_index_in_threadgroup")
                                        .builtin("simdgroup_index_in_threadgroup")
                                        .builtin("thread_index_in_simdgroup")
                                        .threadgroup_buffer("dynamic")
                                        .outside(kLintOutside)
                                        .body(prelude + body));
  for (const lint::Finding& finding : findings) {
    if (finding.lint != lint::kMissingBarrier) continue;
    EXPECT_EQ(finding.severity, lint::Severity::kError);
  }
  return subjects(findings, lint::kMissingBarrier);
}

struct Faulty {
  const char* name;
  const char* subject;  // null: the kernel is right
  const char* body;
};

// A tree of sums over threadgroup memory; `%s`s stand for a barrier, or nothing, in front of a round and behind the
// last.
std::string tree(const char* in_front, const char* behind) {
  return std::string(R"(
  store float %x, ptr addrspace(3) %own, align 4
  br label %round
round:
  %s = phi i64 [ 32, %0 ], [ %half, %again ]
)") + in_front +
         R"(
  %in = icmp ult i64 %l, %s
  br i1 %in, label %sum, label %again
sum:
  %far = add i64 %l, %s
  %other = getelementptr [64 x float], ptr addrspace(3) @shared, i64 0, i64 %far
  %a = load float, ptr addrspace(3) %own, align 4
  %b = load float, ptr addrspace(3) %other, align 4
  %c = fadd float %a, %b
  store float %c, ptr addrspace(3) %own, align 4
  br label %again
again:
  %half = lshr i64 %s, 1
  %more = icmp ne i64 %half, 0
  br i1 %more, label %round, label %done
done:
)" + behind +
         R"(
  br i1 %is_first, label %write, label %end
write:
  %r = load float, ptr addrspace(3) @shared, align 4
  store float %r, ptr addrspace(1) %b0, align 4
  br label %end
end:
  ret void
)";
}

constexpr const char* kBarrier = "  call void @air.wg.barrier(i32 2, i32 1)\n";

const std::vector<Faulty> kFaulty = {
    {"reads_the_opposite", "shared", R"(
  store float %x, ptr addrspace(3) %own, align 4
  %y = load float, ptr addrspace(3) %opposite, align 4
  store float %y, ptr addrspace(1) %to, align 4
  ret void
)"},
    {"reads_the_opposite_behind_a_barrier", nullptr, R"(
  store float %x, ptr addrspace(3) %own, align 4
  call void @air.wg.barrier(i32 2, i32 1)
  %y = load float, ptr addrspace(3) %opposite, align 4
  store float %y, ptr addrspace(1) %to, align 4
  ret void
)"},
    {"barrier_for_no_memory", "shared", R"(
  store float %x, ptr addrspace(3) %own, align 4
  call void @air.wg.barrier(i32 0, i32 1)
  %y = load float, ptr addrspace(3) %opposite, align 4
  store float %y, ptr addrspace(1) %to, align 4
  ret void
)"},
    {"reads_the_next", "shared", R"(
  store float %x, ptr addrspace(3) %own, align 4
  %y = load float, ptr addrspace(3) %next, align 4
  store float %y, ptr addrspace(1) %to, align 4
  ret void
)"},
    {"reads_its_own", nullptr, R"(
  store float %x, ptr addrspace(3) %own, align 4
  %y = load float, ptr addrspace(3) %own, align 4
  store float %y, ptr addrspace(1) %to, align 4
  ret void
)"},
    {"argument_of_the_launch", "dynamic", R"(
  %p = getelementptr float, ptr addrspace(3) %dynamic, i64 %l
  %q = getelementptr float, ptr addrspace(3) %dynamic, i64 %mirror
  store float %x, ptr addrspace(3) %p, align 4
  %y = load float, ptr addrspace(3) %q, align 4
  store float %y, ptr addrspace(1) %to, align 4
  ret void
)"},
    {"own_slice_of_two", nullptr, R"(
  %twice = shl i64 %l, 1
  %p = getelementptr float, ptr addrspace(3) %dynamic, i64 %twice
  %q = getelementptr float, ptr addrspace(3) %p, i64 1
  store float %x, ptr addrspace(3) %p, align 4
  store float 1.0, ptr addrspace(3) %q, align 4
  %y = load float, ptr addrspace(3) %p, align 4
  store float %y, ptr addrspace(1) %to, align 4
  ret void
)"},
    {"another_slice_of_two", "dynamic", R"(
  %twice = shl i64 %l, 1
  %p = getelementptr float, ptr addrspace(3) %dynamic, i64 %twice
  %q = getelementptr float, ptr addrspace(3) %p, i64 2
  store float %x, ptr addrspace(3) %p, align 4
  %y = load float, ptr addrspace(3) %q, align 4
  store float %y, ptr addrspace(1) %to, align 4
  ret void
)"},
    {"another_row_of_its_own", nullptr, R"(
  %p = getelementptr [2 x [64 x float]], ptr addrspace(3) @rows, i64 0, i64 0, i64 %l
  %q = getelementptr [2 x [64 x float]], ptr addrspace(3) @rows, i64 0, i64 1, i64 %l
  store float %x, ptr addrspace(3) %p, align 4
  %y = load float, ptr addrspace(3) %q, align 4
  store float %y, ptr addrspace(1) %to, align 4
  ret void
)"},
    {"reads_all_of_them", "shared", R"(
  store float %x, ptr addrspace(3) %own, align 4
  br label %loop
loop:
  %k = phi i64 [ 0, %0 ], [ %k1, %loop ]
  %sum = phi float [ 0.0, %0 ], [ %more, %loop ]
  %p = getelementptr [64 x float], ptr addrspace(3) @shared, i64 0, i64 %k
  %y = load float, ptr addrspace(3) %p, align 4
  %more = fadd float %sum, %y
  %k1 = add i64 %k, 1
  %again = icmp ult i64 %k1, 64
  br i1 %again, label %loop, label %end
end:
  store float %more, ptr addrspace(1) %to, align 4
  ret void
)"},
    {"one_writes_for_all", "one", R"(
  br i1 %is_first, label %write, label %read
write:
  store float %x, ptr addrspace(3) @one, align 4
  br label %read
read:
  %y = load float, ptr addrspace(3) @one, align 4
  store float %y, ptr addrspace(1) %to, align 4
  ret void
)"},
    {"one_writes_for_all_behind_a_barrier", nullptr, R"(
  br i1 %is_first, label %write, label %read
write:
  store float %x, ptr addrspace(3) @one, align 4
  br label %read
read:
  call void @air.wg.barrier(i32 2, i32 1)
  %y = load float, ptr addrspace(3) @one, align 4
  store float %y, ptr addrspace(1) %to, align 4
  ret void
)"},
    {"one_writes_for_itself", nullptr, R"(
  br i1 %is_first, label %write, label %next_block
write:
  store float %x, ptr addrspace(3) @one, align 4
  br label %next_block
next_block:
  %both = or i32 %simdgroup_index_in_threadgroup, %thread_index_in_simdgroup
  %it_again = icmp eq i32 %both, 0
  br i1 %it_again, label %read, label %end
read:
  %y = load float, ptr addrspace(3) @one, align 4
  store float %y, ptr addrspace(1) %b0, align 4
  br label %end
end:
  ret void
)"},
    {"sums_of_simdgroups", "shared", R"(
  %part = call float @air.simd_sum.f32(float %x)
  br i1 %is_first_lane, label %write, label %read
write:
  store float %part, ptr addrspace(3) %of_simd, align 4
  br label %read
read:
  %y = load float, ptr addrspace(3) %of_lane, align 4
  %sum = call float @air.simd_sum.f32(float %y)
  store float %sum, ptr addrspace(1) %to, align 4
  ret void
)"},
    {"sums_of_simdgroups_behind_a_barrier", nullptr, R"(
  %part = call float @air.simd_sum.f32(float %x)
  br i1 %is_first_lane, label %write, label %read
write:
  store float %part, ptr addrspace(3) %of_simd, align 4
  br label %read
read:
  call void @air.wg.barrier(i32 2, i32 1)
  %y = load float, ptr addrspace(3) %of_lane, align 4
  %sum = call float @air.simd_sum.f32(float %y)
  store float %sum, ptr addrspace(1) %to, align 4
  ret void
)"},
    {"the_first_simdgroup_reads_its_own", nullptr, R"(
  store float %x, ptr addrspace(3) %own, align 4
  br i1 %is_first_simd, label %read, label %end
read:
  %y = load float, ptr addrspace(3) %of_lane, align 4
  store float %y, ptr addrspace(1) %to, align 4
  br label %end
end:
  ret void
)"},
    {"index_by_its_parts", nullptr, R"(
  %rows32 = shl i64 %simd, 5
  %same = add i64 %rows32, %lane
  %p = getelementptr [64 x float], ptr addrspace(3) @shared, i64 0, i64 %same
  store float %x, ptr addrspace(3) %own, align 4
  %y = load float, ptr addrspace(3) %p, align 4
  store float %y, ptr addrspace(1) %to, align 4
  ret void
)"},
    {"barrier_in_a_condition_of_all", nullptr, R"(
  %n = load i32, ptr addrspace(1) %b1, align 4
  %several = icmp ugt i32 %n, 1
  store float %x, ptr addrspace(3) %own, align 4
  br i1 %several, label %meet, label %read
meet:
  call void @air.wg.barrier(i32 2, i32 1)
  br label %read
read:
  %y = load float, ptr addrspace(3) %opposite, align 4
  store float %y, ptr addrspace(1) %to, align 4
  ret void
)"},
    {"behind_what_the_launch_gives", "dynamic", R"(
  %start = load i32, ptr addrspace(1) %b1, align 4
  %wide = zext i32 %start to i64
  %p = getelementptr float, ptr addrspace(3) %dynamic, i64 %l
  %q = getelementptr float, ptr addrspace(3) %dynamic, i64 %wide
  store float %x, ptr addrspace(3) %p, align 4
  %y = load float, ptr addrspace(3) %q, align 4
  store float %y, ptr addrspace(1) %to, align 4
  ret void
)"},
    {"index_out_of_memory", nullptr, R"(
  %i = load i64, ptr addrspace(1) %from, align 8
  %p = getelementptr [64 x float], ptr addrspace(3) @shared, i64 0, i64 %i
  store float %x, ptr addrspace(3) %own, align 4
  %y = load float, ptr addrspace(3) %p, align 4
  store float %y, ptr addrspace(1) %to, align 4
  ret void
)"},
};

TEST(MissingBarrier, IsFoundAndNotMadeUp) {
  for (const Faulty& kernel : kFaulty) {
    std::vector<std::string> expected;
    if (kernel.subject != nullptr) expected.emplace_back(kernel.subject);
    EXPECT_EQ(missing_barriers(kernel.body), expected) << kernel.name;
  }
}

TEST(MissingBarrier, InATreeOfSums) {
  using Subjects = std::vector<std::string>;
  EXPECT_EQ(missing_barriers(tree(kBarrier, "")), Subjects()) << "thread 0 reads what it wrote";
  EXPECT_EQ(missing_barriers(tree(kBarrier, kBarrier)), Subjects());
  EXPECT_EQ(missing_barriers(tree("", kBarrier)), Subjects{"shared"});
}

AirText indexed(const std::string& body) {
  return AirText().buffers(2).builtin("thread_position_in_grid").outside(kLintOutside).body(R"(
  %i = zext i32 %thread_position_in_grid to i64
  %to = getelementptr float, ptr addrspace(1) %b0, i64 %i
)" + body);
}

TEST(Lints, TellWhichBuffersAreRead) {
  const OwnedFunction function(indexed(R"(
  %from = getelementptr float, ptr addrspace(1) %b1, i64 %i
  %x = load float, ptr addrspace(1) %from, align 4
  store float %x, ptr addrspace(1) %to, align 4
  ret void
)"));
  EXPECT_EQ(lint::lint_kernel(function.entry).loaded, std::set<unsigned>{1});
}

TEST(UnguardedIndex, IsAWarning) {
  const auto findings = findings_of(indexed("  store float 1.0, ptr addrspace(1) %to, align 4\n  ret void\n"));
  ASSERT_EQ(subjects(findings, lint::kUnguardedIndex), std::vector<std::string>{"b0"});
  EXPECT_EQ(findings.front().severity, lint::Severity::kWarning);
}

TEST(UnguardedIndex, NotWhereItIsComparedOrHeldWithin) {
  const auto none = std::vector<std::string>();
  EXPECT_EQ(subjects(findings_of(indexed(R"(
  %n = load i32, ptr addrspace(1) %b1, align 4
  %twice = shl i32 %thread_position_in_grid, 1
  %in = icmp ult i32 %twice, %n
  br i1 %in, label %write, label %end
write:
  store float 1.0, ptr addrspace(1) %to, align 4
  br label %end
end:
  ret void
)")),
                     lint::kUnguardedIndex),
            none);
  EXPECT_EQ(subjects(findings_of(indexed(R"(
  %least = call i32 @air.min.u.i32(i32 %thread_position_in_grid, i32 7)
  %j = zext i32 %least to i64
  %p = getelementptr float, ptr addrspace(1) %b0, i64 %j
  store float 1.0, ptr addrspace(1) %p, align 4
  ret void
)")),
                     lint::kUnguardedIndex),
            none);
  // The place does not depend on the thread.
  EXPECT_EQ(subjects(findings_of(indexed("  store float 1.0, ptr addrspace(1) %b0, align 4\n  ret void\n")),
                     lint::kUnguardedIndex),
            none);
}

class GenuineBarriers : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("ANYMPS_GENUINE_KERNELS");
    if (folder == nullptr || *folder == 0) GTEST_SKIP() << "ANYMPS_GENUINE_KERNELS names no folder";
    library_.emplace(library::Metallib::from_file(std::filesystem::path(folder) / "torch-2.13.0-0.metallib"));
  }

  static bool is_reported(const library::FunctionEntry& function) {
    return !subjects(lint::lint_kernel(function).findings, lint::kMissingBarrier).empty();
  }

  std::optional<library::Metallib> library_;
};

TEST_F(GenuineBarriers, NoneIsMissing) {
  for (std::size_t i = 0; i < library_->functions().size(); i += 7) {
    EXPECT_FALSE(is_reported(library_->functions()[i])) << library_->functions()[i].name;
  }
}

// The kernel's bitcode with every barrier taken out; nothing where it has none.
std::vector<std::byte> without_barriers(const library::FunctionEntry& function) {
  llvm::LLVMContext context;
  const auto module = air::read_module(context, function.bitcode, function.name);
  llvm::Function* barrier = module->getFunction("air.wg.barrier");
  if (barrier == nullptr) return {};
  while (!barrier->use_empty()) llvm::cast<llvm::Instruction>(*barrier->user_begin())->eraseFromParent();
  return testing::bitcode_of(*module);
}

// Many kernels index in ways that the lint lets pass; of the rest it must see some.
TEST_F(GenuineBarriers, ManyAreFoundWhereTheyAreTakenOut) {
  std::size_t damaged = 0;
  std::size_t reported = 0;
  for (std::size_t i = 0; i < library_->functions().size(); i += 7) {
    library::FunctionEntry function = library_->functions()[i];
    const std::vector<std::byte> bitcode = without_barriers(function);
    if (bitcode.empty()) continue;
    function.bitcode = bitcode;
    ++damaged;
    reported += is_reported(function) ? 1 : 0;
  }
  EXPECT_GT(damaged, 200U);
  EXPECT_GT(reported, damaged / 3) << reported << " of " << damaged;
}

}  // namespace
}  // namespace anymps::metal
