// Kernels with a bug, and others like them without. All have three device buffers of floats, b0 to b2, a threadgroup
// buffer "dynamic" and what kPrelude makes of the thread's position; unless they say otherwise they are launched as one
// threadgroup of 64 threads with 64 floats in each buffer: b1 counts from 0, the others are zeros.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "metal/pipeline/validation.h"

namespace anymps::metal::testing {

struct Planted {
  const char* name;
  std::optional<pipeline::Fault> fault;  // nothing: the kernel is right
  const char* argument;                  // whose, where the fault has one
  const char* body;
  std::array<std::uint32_t, 3> threads = {64, 1, 1};
  std::array<std::uint32_t, 3> group = {64, 1, 1};
};

inline constexpr char kOutside[] = R"(
@shared = internal addrspace(3) global [64 x float] undef, align 4
@more = internal addrspace(3) global [65 x float] undef, align 4
@halves = internal addrspace(3) global [65 x half] undef, align 2
@tile = internal addrspace(3) global [64 x float] undef, align 16
@count = internal addrspace(3) global i32 undef, align 4
@zeroed = internal addrspace(3) global i32 0, align 4
@table = internal addrspace(2) constant [8 x float] [float 1., float 2., float 3., float 4., float 5., float 6., float 7., float 8.], align 4
declare void @air.wg.barrier(i32, i32) #0
declare void @air.simdgroup.barrier(i32, i32) #0
declare float @air.simd_sum.f32(float) #0
declare i32 @air.atomic.global.add.u.i32(ptr addrspace(1), i32, i32, i32, i1)
declare i32 @air.atomic.global.load.i32(ptr addrspace(1), i32, i32, i1)
declare void @air.atomic.fence(i32, i32, i32)
declare void @air.atomic.local.store.i32(ptr addrspace(3), i32, i32, i32, i1)
declare i32 @air.atomic.local.add.u.i32(ptr addrspace(3), i32, i32, i32, i1)
declare <64 x float> @air.simdgroup_matrix_8x8_load.v64f32.p1f32(ptr addrspace(1), <2 x i64>, <2 x i64>, <2 x i64>) #0
declare <64 x float> @air.simdgroup_matrix_8x8_load.v64f32.p3f32(ptr addrspace(3), <2 x i64>, <2 x i64>, <2 x i64>) #0
declare <64 x float> @air.simdgroup_matrix_8x8_init_filled.v64f32.f32(float) #0
declare void @air.simdgroup_matrix_8x8_store.v64f32.p1f32(<64 x float>, ptr addrspace(1), <2 x i64>, <2 x i64>, <2 x i64>) #0
declare void @llvm.memcpy.p1.p1.i64(ptr addrspace(1), ptr addrspace(1), i64, i1)
define internal void @put(ptr addrspace(1) %to, i64 %at, float %value) {
  %there = getelementptr float, ptr addrspace(1) %to, i64 %at
  store float %value, ptr addrspace(1) %there, align 4
  ret void
}
define internal void @wait() #0 {
  call void @air.wg.barrier(i32 2, i32 1)
  ret void
}
attributes #0 = { convergent }
)";

inline constexpr char kPrelude[] = R"(
  %px = extractelement <3 x i32> %thread_position_in_grid, i64 0
  %py = extractelement <3 x i32> %thread_position_in_grid, i64 1
  %pz = extractelement <3 x i32> %thread_position_in_grid, i64 2
  %gx = extractelement <3 x i32> %threadgroup_position_in_grid, i64 0
  %i = zext i32 %px to i64
  %l = zext i32 %thread_index_in_threadgroup to i64
  %mirror = sub i64 63, %l
  %odd = and i64 %i, 1
  %is_odd = icmp ne i64 %odd, 0
  %is_first = icmp eq i64 %l, 0
  %number = uitofp i32 %px to float
  %own0 = getelementptr float, ptr addrspace(1) %b0, i64 %i
  %own1 = getelementptr float, ptr addrspace(1) %b1, i64 %i
  %own = getelementptr [64 x float], ptr addrspace(3) @shared, i64 0, i64 %l
  %other = getelementptr [64 x float], ptr addrspace(3) @shared, i64 0, i64 %mirror
)";

using enum pipeline::Fault;

inline const std::vector<Planted> kPlanted = {
    // ---- out of bounds ----
    {"before_a_variable_of_the_thread", kOutOfBounds, "a", R"(
  %a = alloca [8 x float], align 4
  %back = sub i64 7, %i
  %p = getelementptr inbounds [8 x float], ptr %a, i64 0, i64 %back
  store float %number, ptr %p, align 4
  %first = load float, ptr %a, align 4
  store float %first, ptr addrspace(1) %own0, align 4
  ret void
)"},
    {"past_a_table", kOutOfBounds, "table", R"(
  %p = getelementptr inbounds [8 x float], ptr addrspace(2) @table, i64 0, i64 %i
  %x = load float, ptr addrspace(2) %p, align 4
  store float %x, ptr addrspace(1) %own0, align 4
  ret void
)"},
    {"within_a_variable_of_the_thread", std::nullopt, "", R"(
  %a = alloca [64 x float], align 4
  %p = getelementptr inbounds [64 x float], ptr %a, i64 0, i64 %mirror
  store float %number, ptr %p, align 4
  %x = load float, ptr %p, align 4
  store float %x, ptr addrspace(1) %own0, align 4
  ret void
)"},
    {"load_past_the_end", kOutOfBounds, "b1", R"(
  %p = getelementptr float, ptr addrspace(1) %own1, i64 1
  %x = load float, ptr addrspace(1) %p, align 4
  store float %x, ptr addrspace(1) %own0, align 4
  ret void
)"},
    {"store_past_the_end_in_a_function", kOutOfBounds, "b0", R"(
  %at = add i64 %i, 1
  call void @put(ptr addrspace(1) %b0, i64 %at, float %number)
  ret void
)"},
    {"byte_before_the_beginning", kOutOfBounds, "b1", R"(
  %at = sub i64 %i, 1
  %p = getelementptr i8, ptr addrspace(1) %b1, i64 %at
  %x = load i8, ptr addrspace(1) %p, align 1
  %y = uitofp i8 %x to float
  store float %y, ptr addrspace(1) %own0, align 4
  ret void
)"},
    {"a_plane_too_many",
     kOutOfBounds,
     "b0",
     R"(
  %row = mul i32 %pz, 4
  %line = add i32 %row, %py
  %first = mul i32 %line, 4
  %at = add i32 %first, %px
  %wide = zext i32 %at to i64
  call void @put(ptr addrspace(1) %b0, i64 %wide, float 1.0)
  ret void
)",
     {4, 4, 5},
     {4, 4, 2}},
    {"vector_past_the_end",
     kOutOfBounds,
     "b1",
     R"(
  %p = getelementptr <4 x float>, ptr addrspace(1) %b1, i64 %i
  %x = load <4 x float>, ptr addrspace(1) %p, align 16
  %y = extractelement <4 x float> %x, i64 3
  store float %y, ptr addrspace(1) %own0, align 4
  ret void
)",
     {17, 1, 1},
     {32, 1, 1}},
    {"atomic_past_the_end", kOutOfBounds, "b0", R"(
  %p = getelementptr i32, ptr addrspace(1) %b0, i64 64
  %old = call i32 @air.atomic.global.add.u.i32(ptr addrspace(1) %p, i32 1, i32 0, i32 2, i1 true)
  ret void
)"},
    {"pointer_that_walks_too_far", kOutOfBounds, "b1", R"(
  br label %loop
loop:
  %p = phi ptr addrspace(1) [ %b1, %0 ], [ %next, %loop ]
  %sum = phi float [ 0.0, %0 ], [ %more, %loop ]
  %k = phi i32 [ 0, %0 ], [ %k1, %loop ]
  %x = load float, ptr addrspace(1) %p, align 4
  %more = fadd float %sum, %x
  %next = getelementptr float, ptr addrspace(1) %p, i64 1
  %k1 = add i32 %k, 1
  %again = icmp ule i32 %k1, 64
  br i1 %again, label %loop, label %end
end:
  store float %more, ptr addrspace(1) %own0, align 4
  ret void
)"},
    {"either_of_two_buffers", kOutOfBounds, "b2", R"(
  %p = select i1 %is_odd, ptr addrspace(1) %b1, ptr addrspace(1) %b2
  %at = add i64 %i, 64
  %q = getelementptr float, ptr addrspace(1) %p, i64 %at
  %x = load float, ptr addrspace(1) %q, align 4
  store float %x, ptr addrspace(1) %own0, align 4
  ret void
)"},
    {"halves_in_two_dimensions",
     kOutOfBounds,
     "b0",
     R"(
  %row = mul i32 %py, 16
  %at = add i32 %row, %px
  %wide = zext i32 %at to i64
  %p = getelementptr half, ptr addrspace(1) %b0, i64 %wide
  store half 1.0, ptr addrspace(1) %p, align 2
  ret void
)",
     {16, 16, 1},
     {16, 4, 1}},
    {"matrix_with_rows_too_long",
     kOutOfBounds,
     "b1",
     R"(
  %m = call <64 x float> @air.simdgroup_matrix_8x8_load.v64f32.p1f32(ptr addrspace(1) %b1, <2 x i64> <i64 9, i64 8>, <2 x i64> <i64 1, i64 9>, <2 x i64> zeroinitializer)
  call void @air.simdgroup_matrix_8x8_store.v64f32.p1f32(<64 x float> %m, ptr addrspace(1) %b0, <2 x i64> <i64 8, i64 8>, <2 x i64> <i64 1, i64 8>, <2 x i64> zeroinitializer)
  ret void
)",
     {32, 1, 1},
     {32, 1, 1}},
    {"threadgroup_array_past_its_end", kOutOfBounds, "shared", R"(
  %p = getelementptr float, ptr addrspace(3) %own, i64 1
  store float %number, ptr addrspace(3) %p, align 4
  ret void
)"},
    {"copy_past_the_end",
     kOutOfBounds,
     "b2",
     R"(
  %p = getelementptr float, ptr addrspace(1) %b2, i64 62
  call void @llvm.memcpy.p1.p1.i64(ptr addrspace(1) %b0, ptr addrspace(1) %p, i64 12, i1 false)
  ret void
)",
     {1, 1, 1},
     {1, 1, 1}},

    // ---- races ----
    {"reads_before_the_other_wrote", kRace, "shared", R"(
  store float 0.0, ptr addrspace(3) %own, align 4
  call void @air.wg.barrier(i32 2, i32 1)
  store float %number, ptr addrspace(3) %own, align 4
  %x = load float, ptr addrspace(3) %other, align 4
  store float %x, ptr addrspace(1) %own0, align 4
  ret void
)"},
    {"writes_before_the_other_read", kRace, "shared", R"(
  store float %number, ptr addrspace(3) %own, align 4
  call void @air.wg.barrier(i32 2, i32 1)
  %x = load float, ptr addrspace(3) %other, align 4
  %y = fadd float %x, 1.0
  store float %y, ptr addrspace(3) %own, align 4
  ret void
)"},
    {"all_write_one_place", kRace, "b0", R"(
  store float %number, ptr addrspace(1) %b0, align 4
  ret void
)"},
    {"threadgroups_write_one_place",
     kRace,
     "b0",
     R"(
  br i1 %is_first, label %write, label %end
write:
  store i32 %gx, ptr addrspace(1) %b0, align 4
  br label %end
end:
  ret void
)",
     {64, 1, 1},
     {16, 1, 1}},
    {"in_place_over_neighbours",
     kRace,
     "b0",
     R"(
  %last = icmp eq i64 %i, 63
  br i1 %last, label %end, label %work
work:
  %p = getelementptr float, ptr addrspace(1) %own0, i64 1
  %x = load float, ptr addrspace(1) %p, align 4
  %y = fadd float %x, %number
  store float %y, ptr addrspace(1) %own0, align 4
  br label %end
end:
  ret void
)",
     {64, 1, 1},
     {1, 1, 1}},
    {"plain_load_of_an_atomic_counter", kRace, "b0", R"(
  %old = call i32 @air.atomic.global.add.u.i32(ptr addrspace(1) %b0, i32 1, i32 0, i32 2, i1 true)
  %x = load i32, ptr addrspace(1) %b0, align 4
  %p = getelementptr i32, ptr addrspace(1) %b2, i64 %i
  store i32 %x, ptr addrspace(1) %p, align 4
  ret void
)"},
    {"barrier_for_no_memory", kRace, "shared", R"(
  store float %number, ptr addrspace(3) %own, align 4
  call void @air.wg.barrier(i32 0, i32 1)
  %x = load float, ptr addrspace(3) %other, align 4
  store float %x, ptr addrspace(1) %own0, align 4
  ret void
)"},
    {"the_half_beside", kRace, "halves", R"(
  %p = getelementptr [65 x half], ptr addrspace(3) @halves, i64 0, i64 %l
  %q = getelementptr half, ptr addrspace(3) %p, i64 1
  store half 1.0, ptr addrspace(3) %q, align 2
  store half 2.0, ptr addrspace(3) %p, align 2
  ret void
)"},
    {"vectors_that_overlap", kRace, "b0", R"(
  %last = icmp eq i64 %i, 63
  br i1 %last, label %end, label %work
work:
  %v = insertelement <2 x float> <float -1.0, float -1.0>, float %number, i64 0
  store <2 x float> %v, ptr addrspace(1) %own0, align 4
  br label %end
end:
  ret void
)"},
    {"lanes_through_device_memory", kRace, "b0", R"(
  store float %number, ptr addrspace(1) %own0, align 4
  %at = xor i64 %i, 1
  %p = getelementptr float, ptr addrspace(1) %b0, i64 %at
  %x = load float, ptr addrspace(1) %p, align 4
  store float %x, ptr addrspace(3) %own, align 4
  ret void
)"},
    {"simdgroup_barrier_between_simdgroups", kRace, "shared", R"(
  store float %number, ptr addrspace(3) %own, align 4
  call void @air.simdgroup.barrier(i32 2, i32 1)
  %x = load float, ptr addrspace(3) %other, align 4
  store float %x, ptr addrspace(1) %own0, align 4
  ret void
)"},
    {"tree_without_barriers", kRace, "shared", R"(
  store float %number, ptr addrspace(3) %own, align 4
  call void @air.wg.barrier(i32 2, i32 1)
  br label %loop
loop:
  %half = phi i64 [ 32, %0 ], [ %less, %next ]
  %in = icmp ult i64 %l, %half
  br i1 %in, label %add, label %next
add:
  %p = getelementptr float, ptr addrspace(3) %own, i64 %half
  %x = load float, ptr addrspace(3) %p, align 4
  %y = load float, ptr addrspace(3) %own, align 4
  %z = fadd float %x, %y
  store float %z, ptr addrspace(3) %own, align 4
  br label %next
next:
  %less = lshr i64 %half, 1
  %again = icmp ne i64 %less, 0
  br i1 %again, label %loop, label %end
end:
  ret void
)"},
    {"two_simdgroups_store_one_matrix", kRace, "b0", R"(
  %s = udiv i32 %px, 32
  %value = uitofp i32 %s to float
  %m = call <64 x float> @air.simdgroup_matrix_8x8_init_filled.v64f32.f32(float %value)
  call void @air.simdgroup_matrix_8x8_store.v64f32.p1f32(<64 x float> %m, ptr addrspace(1) %b0, <2 x i64> <i64 8, i64 8>, <2 x i64> <i64 1, i64 8>, <2 x i64> zeroinitializer)
  ret void
)"},

    // ---- uninitialised threadgroup memory ----
    {"reads_what_nobody_wrote", kUninitialised, "shared", R"(
  %x = load float, ptr addrspace(3) %own, align 4
  store float %x, ptr addrspace(1) %own0, align 4
  ret void
)"},
    {"every_other_thread_writes", kUninitialised, "shared", R"(
  br i1 %is_odd, label %write, label %read
write:
  store float %number, ptr addrspace(3) %own, align 4
  br label %read
read:
  call void @air.wg.barrier(i32 2, i32 1)
  %x = load float, ptr addrspace(3) %other, align 4
  store float %x, ptr addrspace(1) %own0, align 4
  ret void
)"},
    {"one_beyond_what_was_written", kUninitialised, "more", R"(
  %p = getelementptr [65 x float], ptr addrspace(3) @more, i64 0, i64 %l
  store float %number, ptr addrspace(3) %p, align 4
  call void @air.wg.barrier(i32 2, i32 1)
  %q = getelementptr float, ptr addrspace(3) %p, i64 1
  %x = load float, ptr addrspace(3) %q, align 4
  store float %x, ptr addrspace(1) %own0, align 4
  ret void
)"},
    {"only_the_first_threadgroup_writes",
     kUninitialised,
     "shared",
     R"(
  %first = icmp eq i32 %gx, 0
  br i1 %first, label %write, label %read
write:
  store float %number, ptr addrspace(3) %own, align 4
  br label %read
read:
  %x = load float, ptr addrspace(3) %own, align 4
  store float %x, ptr addrspace(1) %own0, align 4
  ret void
)",
     {64, 1, 1},
     {32, 1, 1}},
    {"counter_that_was_not_set", kUninitialised, "count", R"(
  %old = call i32 @air.atomic.local.add.u.i32(ptr addrspace(3) @count, i32 1, i32 0, i32 1, i1 true)
  ret void
)"},
    {"vector_of_which_a_part_was_written",
     kUninitialised,
     "shared",
     R"(
  %three = icmp ult i64 %l, 3
  br i1 %three, label %write, label %read
write:
  store float %number, ptr addrspace(3) %own, align 4
  br label %read
read:
  call void @air.wg.barrier(i32 2, i32 1)
  %x = load <4 x float>, ptr addrspace(3) @shared, align 4
  %y = extractelement <4 x float> %x, i64 0
  store float %y, ptr addrspace(1) %own0, align 4
  ret void
)",
     {4, 1, 1},
     {4, 1, 1}},
    {"byte_of_a_word", kUninitialised, "shared", R"(
  store i8 1, ptr addrspace(3) %own, align 1
  %x = load i32, ptr addrspace(3) %own, align 4
  store i32 %x, ptr addrspace(1) %own0, align 4
  ret void
)"},
    {"the_wrong_array", kUninitialised, "tile", R"(
  store float %number, ptr addrspace(3) %own, align 4
  call void @air.wg.barrier(i32 2, i32 1)
  %p = getelementptr [64 x float], ptr addrspace(3) @tile, i64 0, i64 %l
  %x = load float, ptr addrspace(3) %p, align 4
  store float %x, ptr addrspace(1) %own0, align 4
  ret void
)"},
    {"matrix_of_a_tile_that_was_not_filled",
     kUninitialised,
     "tile",
     R"(
  %m = call <64 x float> @air.simdgroup_matrix_8x8_load.v64f32.p3f32(ptr addrspace(3) @tile, <2 x i64> <i64 8, i64 8>, <2 x i64> <i64 1, i64 8>, <2 x i64> zeroinitializer)
  call void @air.simdgroup_matrix_8x8_store.v64f32.p1f32(<64 x float> %m, ptr addrspace(1) %b0, <2 x i64> <i64 8, i64 8>, <2 x i64> <i64 1, i64 8>, <2 x i64> zeroinitializer)
  ret void
)",
     {32, 1, 1},
     {32, 1, 1}},
    {"argument_that_nobody_filled", kUninitialised, "dynamic", R"(
  %p = getelementptr float, ptr addrspace(3) %dynamic, i64 %l
  %x = load float, ptr addrspace(3) %p, align 4
  store float %x, ptr addrspace(1) %own0, align 4
  ret void
)"},

    // ---- barriers in divergent control flow ----
    {"barrier_of_a_few_lanes", kDivergentBarrier, "", R"(
  %few = icmp ult i64 %l, 5
  br i1 %few, label %then, label %end
then:
  call void @air.wg.barrier(i32 2, i32 1)
  br label %end
end:
  store float %number, ptr addrspace(1) %own0, align 4
  ret void
)"},
    {"another_barrier_on_either_side", kDivergentBarrier, "", R"(
  br i1 %is_odd, label %then, label %else
then:
  call void @air.wg.barrier(i32 2, i32 1)
  store float 1.0, ptr addrspace(1) %own0, align 4
  br label %end
else:
  call void @air.wg.barrier(i32 2, i32 1)
  store float 2.0, ptr addrspace(1) %own0, align 4
  br label %end
end:
  ret void
)"},
    {"as_many_rounds_as_the_index", kDivergentBarrier, "", R"(
  br label %loop
loop:
  %k = phi i64 [ 0, %0 ], [ %k1, %loop ]
  call void @air.wg.barrier(i32 2, i32 1)
  %k1 = add i64 %k, 1
  %again = icmp ule i64 %k1, %l
  br i1 %again, label %loop, label %end
end:
  ret void
)"},
    {"some_wrote_and_returned", kDivergentBarrier, "", R"(
  store float 1.0, ptr addrspace(1) %own0, align 4
  %many = icmp uge i64 %l, 40
  br i1 %many, label %end, label %work
work:
  call void @air.wg.barrier(i32 2, i32 1)
  store float %number, ptr addrspace(1) %own0, align 4
  br label %end
end:
  ret void
)"},
    {"barrier_in_one_case_of_a_switch", kDivergentBarrier, "", R"(
  %which = and i64 %l, 3
  switch i64 %which, label %end [
    i64 1, label %one
    i64 2, label %two
  ]
one:
  store float 1.0, ptr addrspace(1) %own0, align 4
  br label %end
two:
  call void @air.wg.barrier(i32 1, i32 1)
  store float 2.0, ptr addrspace(1) %own0, align 4
  br label %end
end:
  ret void
)"},
    {"barrier_where_the_data_say_so", kDivergentBarrier, "", R"(
  %x = load float, ptr addrspace(1) %own1, align 4
  %small = fcmp olt float %x, 50.0
  br i1 %small, label %then, label %end
then:
  call void @air.wg.barrier(i32 2, i32 1)
  br label %end
end:
  store float %x, ptr addrspace(1) %own0, align 4
  ret void
)"},
    {"barrier_of_one_simdgroup", kDivergentBarrier, "", R"(
  %first = icmp ult i64 %l, 32
  %sum = call float @air.simd_sum.f32(float %number)
  br i1 %first, label %then, label %end
then:
  call void @air.wg.barrier(i32 2, i32 1)
  br label %end
end:
  ret void
)"},
    {"one_barrier_for_each_simdgroup", kDivergentBarrier, "", R"(
  %first = icmp ult i64 %l, 32
  br i1 %first, label %then, label %else
then:
  call void @air.wg.barrier(i32 2, i32 1)
  store float %number, ptr addrspace(1) %own0, align 4
  br label %end
else:
  store float %number, ptr addrspace(1) %own0, align 4
  call void @air.wg.barrier(i32 3, i32 1)
  br label %end
end:
  ret void
)"},
    {"function_that_waits", kDivergentBarrier, "", R"(
  br i1 %is_odd, label %then, label %end
then:
  call void @wait()
  br label %end
end:
  store float %number, ptr addrspace(3) %own, align 4
  ret void
)"},
    {"the_last_threadgroup_only",
     kDivergentBarrier,
     "",
     R"(
  %most = icmp ult i64 %i, 60
  br i1 %most, label %then, label %end
then:
  call void @air.wg.barrier(i32 2, i32 1)
  br label %end
end:
  store float %number, ptr addrspace(1) %own0, align 4
  ret void
)",
     {63, 1, 1},
     {16, 1, 1}},

    // ---- misaligned ----
    {"float_at_two_bytes", kMisaligned, "b1", R"(
  %p = getelementptr i8, ptr addrspace(1) %b1, i64 2
  %x = load float, ptr addrspace(1) %p, align 4
  store float %x, ptr addrspace(1) %own0, align 4
  ret void
)"},
    {"store_at_an_odd_byte",
     kMisaligned,
     "b0",
     R"(
  %p = getelementptr i8, ptr addrspace(1) %b0, i64 13
  store float 1.0, ptr addrspace(1) %p, align 4
  ret void
)",
     {1, 1, 1},
     {1, 1, 1}},
    {"vector_between_floats", kMisaligned, "b1", R"(
  %p = getelementptr half, ptr addrspace(1) %b1, i64 3
  %x = load <4 x float>, ptr addrspace(1) %p, align 16
  %y = extractelement <4 x float> %x, i64 0
  store float %y, ptr addrspace(1) %own0, align 4
  ret void
)"},
    {"half_at_an_odd_byte", kMisaligned, "b1", R"(
  %at = add i64 %i, 1
  %p = getelementptr i8, ptr addrspace(1) %b1, i64 %at
  %x = load half, ptr addrspace(1) %p, align 2
  %y = fpext half %x to float
  store float %y, ptr addrspace(1) %own0, align 4
  ret void
)"},
    {"long_at_an_int", kMisaligned, "b2", R"(
  %p = getelementptr i32, ptr addrspace(1) %b2, i64 3
  %x = load i64, ptr addrspace(1) %p, align 8
  %y = uitofp i64 %x to float
  store float %y, ptr addrspace(1) %own0, align 4
  ret void
)"},
    {"atomic_at_two_bytes", kMisaligned, "b0", R"(
  %p = getelementptr i8, ptr addrspace(1) %b0, i64 2
  %old = call i32 @air.atomic.global.add.u.i32(ptr addrspace(1) %p, i32 1, i32 0, i32 2, i1 true)
  ret void
)"},
    {"threadgroup_float_at_a_byte",
     kMisaligned,
     "more",
     R"(
  %p = getelementptr i64, ptr addrspace(3) @more, i64 %l
  %q = getelementptr i8, ptr addrspace(3) %p, i64 1
  store float %number, ptr addrspace(3) %q, align 4
  ret void
)",
     {32, 1, 1},
     {32, 1, 1}},
    {"pair_of_halves_at_an_odd_byte", kMisaligned, "b0", R"(
  %p = getelementptr i8, ptr addrspace(1) %b0, i64 5
  store <2 x half> <half 1.0, half 2.0>, ptr addrspace(1) %p, align 4
  ret void
)"},
    {"copy_from_a_byte",
     kMisaligned,
     "b1",
     R"(
  %p = getelementptr i8, ptr addrspace(1) %b1, i64 1
  call void @llvm.memcpy.p1.p1.i64(ptr addrspace(1) align 4 %b0, ptr addrspace(1) align 4 %p, i64 16, i1 false)
  ret void
)",
     {1, 1, 1},
     {1, 1, 1}},
    {"records_of_six_bytes", kMisaligned, "b1", R"(
  br label %loop
loop:
  %k = phi i64 [ 0, %0 ], [ %k1, %loop ]
  %sum = phi float [ 0.0, %0 ], [ %more, %loop ]
  %at = mul i64 %k, 6
  %p = getelementptr i8, ptr addrspace(1) %b1, i64 %at
  %x = load float, ptr addrspace(1) %p, align 4
  %more = fadd float %sum, %x
  %k1 = add i64 %k, 1
  %again = icmp ult i64 %k1, 8
  br i1 %again, label %loop, label %end
end:
  store float %more, ptr addrspace(1) %own0, align 4
  ret void
)"},

    // ---- endless loops ----
    {"nothing_for_ever", kEndlessLoop, "", R"(
  br label %loop
loop:
  br label %loop
)"},
    {"a_step_of_nothing", kEndlessLoop, "", R"(
  br label %loop
loop:
  %k = phi i64 [ 0, %0 ], [ %k1, %loop ]
  %p = getelementptr float, ptr addrspace(1) %b0, i64 %i
  store float %number, ptr addrspace(1) %p, align 4
  %k1 = add i64 %k, %odd
  %again = icmp ult i64 %k1, 8
  br i1 %again, label %loop, label %end
end:
  ret void
)"},
    {"steps_over_its_end", kEndlessLoop, "", R"(
  br label %loop
loop:
  %k = phi i64 [ 0, %0 ], [ %k1, %loop ]
  %k1 = add i64 %k, 2
  %again = icmp ne i64 %k1, 63
  br i1 %again, label %loop, label %end
end:
  store float %number, ptr addrspace(1) %own0, align 4
  ret void
)"},
    {"waits_for_a_flag", kEndlessLoop, "", R"(
  br label %loop
loop:
  %x = call i32 @air.atomic.global.load.i32(ptr addrspace(1) %b0, i32 0, i32 2, i1 true)
  %again = icmp eq i32 %x, 0
  br i1 %again, label %loop, label %end
end:
  ret void
)"},
    {"an_inner_loop", kEndlessLoop, "", R"(
  br label %outer
outer:
  %k = phi i64 [ 0, %0 ], [ %k1, %outer_next ]
  br label %inner
inner:
  %j = phi i64 [ 0, %outer ], [ %j1, %inner ]
  %j1 = add i64 %j, %k
  %inner_again = icmp ult i64 %j1, 10
  br i1 %inner_again, label %inner, label %outer_next
outer_next:
  %k1 = add i64 %k, 1
  %again = icmp ult i64 %k1, 10
  br i1 %again, label %outer, label %end
end:
  store float %number, ptr addrspace(1) %own0, align 4
  ret void
)"},
    {"to_and_fro", kEndlessLoop, "", R"(
  br label %here
here:
  %x = load float, ptr addrspace(1) %own1, align 4
  %up = fcmp oge float %x, 0.0
  br i1 %up, label %there, label %end
there:
  store float %x, ptr addrspace(1) %own0, align 4
  br label %here
end:
  ret void
)"},
    {"barriers_for_ever", kEndlessLoop, "", R"(
  br label %loop
loop:
  call void @air.wg.barrier(i32 2, i32 1)
  br label %loop
)"},
    {"one_thread_of_many", kEndlessLoop, "", R"(
  %mine = icmp eq i64 %l, 37
  br label %loop
loop:
  %k = phi i64 [ 0, %0 ], [ %k1, %loop ]
  %k1 = add i64 %k, 1
  %more = icmp ult i64 %k1, 100
  %again = or i1 %more, %mine
  br i1 %again, label %loop, label %end
end:
  store float %number, ptr addrspace(1) %own0, align 4
  ret void
)"},
    {"cases_that_all_come_back", kEndlessLoop, "", R"(
  br label %loop
loop:
  %state = phi i64 [ %l, %0 ], [ 1, %loop ], [ 1, %loop ], [ 2, %two ]
  %which = and i64 %state, 3
  switch i64 %which, label %two [
    i64 0, label %loop
    i64 2, label %loop
  ]
two:
  br label %loop
)"},
    {"waits_for_memory_that_does_not_change",
     kEndlessLoop,
     "",
     R"(
  br label %loop
loop:
  %x = load float, ptr addrspace(1) %b2, align 4
  %again = fcmp oeq float %x, 0.0
  br i1 %again, label %loop, label %end
end:
  ret void
)",
     {4, 4, 4},
     {4, 4, 1}},

    // ---- kernels that are right ----
    {"right_up_to_the_end", std::nullopt, "", R"(
  %x = load float, ptr addrspace(1) %own1, align 4
  store float %x, ptr addrspace(1) %own0, align 4
  ret void
)"},
    {"right_last_vector",
     std::nullopt,
     "",
     R"(
  %p = getelementptr <4 x float>, ptr addrspace(1) %b1, i64 %i
  %x = load <4 x float>, ptr addrspace(1) %p, align 16
  %y = extractelement <4 x float> %x, i64 3
  store float %y, ptr addrspace(1) %own0, align 4
  ret void
)",
     {16, 1, 1},
     {32, 1, 1}},
    {"right_with_a_guard",
     std::nullopt,
     "",
     R"(
  %in = icmp ult i64 %i, 64
  br i1 %in, label %work, label %end
work:
  call void @put(ptr addrspace(1) %b0, i64 %i, float %number)
  br label %end
end:
  ret void
)",
     {100, 1, 1},
     {32, 1, 1}},
    {"right_either_of_two_buffers", std::nullopt, "", R"(
  %p = select i1 %is_odd, ptr addrspace(1) %b1, ptr addrspace(1) %b2
  %q = getelementptr float, ptr addrspace(1) %p, i64 %i
  %x = load float, ptr addrspace(1) %q, align 4
  store float %x, ptr addrspace(1) %own0, align 4
  ret void
)"},
    {"right_matrices",
     std::nullopt,
     "",
     R"(
  %m = call <64 x float> @air.simdgroup_matrix_8x8_load.v64f32.p1f32(ptr addrspace(1) %b1, <2 x i64> <i64 8, i64 8>, <2 x i64> <i64 1, i64 8>, <2 x i64> zeroinitializer)
  call void @air.simdgroup_matrix_8x8_store.v64f32.p1f32(<64 x float> %m, ptr addrspace(1) %b0, <2 x i64> <i64 8, i64 8>, <2 x i64> <i64 1, i64 8>, <2 x i64> zeroinitializer)
  ret void
)",
     {32, 1, 1},
     {32, 1, 1}},
    {"right_exchange", std::nullopt, "", R"(
  store float %number, ptr addrspace(3) %own, align 4
  call void @air.wg.barrier(i32 2, i32 1)
  %x = load float, ptr addrspace(3) %other, align 4
  call void @air.wg.barrier(i32 2, i32 1)
  store float %x, ptr addrspace(3) %own, align 4
  ret void
)"},
    {"right_all_write_the_same",
     std::nullopt,
     "",
     R"(
  store float 1.0, ptr addrspace(1) %b0, align 4
  ret void
)",
     {64, 1, 1},
     {16, 1, 1}},
    {"right_atomic_counter",
     std::nullopt,
     "",
     R"(
  %old = call i32 @air.atomic.global.add.u.i32(ptr addrspace(1) %b0, i32 1, i32 0, i32 2, i1 true)
  %x = call i32 @air.atomic.global.load.i32(ptr addrspace(1) %b0, i32 0, i32 2, i1 true)
  ret void
)",
     {64, 1, 1},
     {16, 1, 1}},
    {"right_with_fences_between_threadgroups",
     std::nullopt,
     "",
     R"(
  call void @air.atomic.fence(i32 1, i32 5, i32 2)
  %x = load float, ptr addrspace(1) %b2, align 4
  %y = fadd float %x, 1.0
  store float %y, ptr addrspace(1) %b2, align 4
  call void @air.atomic.fence(i32 1, i32 5, i32 2)
  ret void
)",
     {4, 1, 1},
     {1, 1, 1}},
    {"right_halves_side_by_side",
     std::nullopt,
     "",
     R"(
  %p = getelementptr half, ptr addrspace(1) %b0, i64 %i
  %x = load half, ptr addrspace(1) %p, align 2
  %y = fadd half %x, 1.0
  store half %y, ptr addrspace(1) %p, align 2
  ret void
)",
     {64, 1, 1},
     {16, 1, 1}},
    {"right_lanes_with_a_simdgroup_barrier", std::nullopt, "", R"(
  store float %number, ptr addrspace(3) %own, align 4
  call void @air.simdgroup.barrier(i32 2, i32 1)
  %at = xor i64 %l, 1
  %p = getelementptr [64 x float], ptr addrspace(3) @shared, i64 0, i64 %at
  %x = load float, ptr addrspace(3) %p, align 4
  store float %x, ptr addrspace(1) %own0, align 4
  ret void
)"},
    {"right_lanes_that_met_in_a_sum", std::nullopt, "", R"(
  store float %number, ptr addrspace(3) %own, align 4
  %sum = call float @air.simd_sum.f32(float %number)
  %at = xor i64 %l, 1
  %p = getelementptr [64 x float], ptr addrspace(3) @shared, i64 0, i64 %at
  store float %sum, ptr addrspace(3) %p, align 4
  ret void
)"},
    {"right_through_device_memory", std::nullopt, "", R"(
  store float %number, ptr addrspace(1) %own0, align 4
  call void @air.wg.barrier(i32 1, i32 1)
  %p = getelementptr float, ptr addrspace(1) %b0, i64 %mirror
  %x = load float, ptr addrspace(1) %p, align 4
  store float %x, ptr addrspace(3) %own, align 4
  ret void
)"},
    {"right_zero_by_its_declaration",
     std::nullopt,
     "",
     R"(
  %old = call i32 @air.atomic.local.add.u.i32(ptr addrspace(3) @zeroed, i32 1, i32 0, i32 1, i1 true)
  call void @air.wg.barrier(i32 2, i32 1)
  %x = load i32, ptr addrspace(3) @zeroed, align 4
  store i32 %x, ptr addrspace(1) %own0, align 4
  ret void
)",
     {64, 1, 1},
     {16, 1, 1}},
    {"right_counter_that_was_set", std::nullopt, "", R"(
  br i1 %is_first, label %set, label %add
set:
  call void @air.atomic.local.store.i32(ptr addrspace(3) @count, i32 0, i32 0, i32 1, i1 true)
  br label %add
add:
  call void @air.wg.barrier(i32 2, i32 1)
  %old = call i32 @air.atomic.local.add.u.i32(ptr addrspace(3) @count, i32 1, i32 0, i32 1, i1 true)
  ret void
)"},
    {"right_argument_that_was_filled", std::nullopt, "", R"(
  %p = getelementptr float, ptr addrspace(3) %dynamic, i64 %l
  store float %number, ptr addrspace(3) %p, align 4
  call void @air.wg.barrier(i32 2, i32 1)
  %q = getelementptr float, ptr addrspace(3) %dynamic, i64 %mirror
  %x = load float, ptr addrspace(3) %q, align 4
  store float %x, ptr addrspace(1) %own0, align 4
  ret void
)"},
    {"right_barriers_in_a_loop", std::nullopt, "", R"(
  br label %loop
loop:
  %k = phi i64 [ 0, %0 ], [ %k1, %loop ]
  call void @air.wg.barrier(i32 2, i32 1)
  %k1 = add i64 %k, 1
  %again = icmp ult i64 %k1, 7
  br i1 %again, label %loop, label %end
end:
  ret void
)"},
    {"right_barrier_of_whole_threadgroups",
     std::nullopt,
     "",
     R"(
  %even = and i32 %gx, 1
  %is_even = icmp eq i32 %even, 0
  br i1 %is_even, label %then, label %end
then:
  call void @air.wg.barrier(i32 2, i32 1)
  br label %end
end:
  ret void
)",
     {63, 1, 1},
     {16, 1, 1}},
    {"right_some_had_nothing_to_do", std::nullopt, "", R"(
  %many = icmp uge i64 %l, 40
  br i1 %many, label %end, label %work
work:
  call void @air.wg.barrier(i32 2, i32 1)
  store float %number, ptr addrspace(1) %own0, align 4
  br label %end
end:
  ret void
)"},
    {"right_vector_at_a_float", std::nullopt, "", R"(
  %p = getelementptr float, ptr addrspace(1) %b1, i64 1
  %x = load <4 x float>, ptr addrspace(1) %p, align 16
  %y = extractelement <4 x float> %x, i64 0
  store float %y, ptr addrspace(1) %own0, align 4
  ret void
)"},
    {"right_packed_vector", std::nullopt, "", R"(
  %p = getelementptr float, ptr addrspace(1) %b1, i64 1
  %x = load <4 x float>, ptr addrspace(1) %p, align 4
  %y = extractelement <4 x float> %x, i64 0
  store float %y, ptr addrspace(1) %own0, align 4
  ret void
)"},
    {"right_many_rounds", std::nullopt, "", R"(
  br label %loop
loop:
  %k = phi i64 [ 0, %0 ], [ %k1, %loop ]
  %k1 = add i64 %k, 1
  %again = icmp ult i64 %k1, 9000
  br i1 %again, label %loop, label %end
end:
  store float %number, ptr addrspace(1) %own0, align 4
  ret void
)"},
};

}  // namespace anymps::metal::testing
