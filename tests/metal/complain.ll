; A kernel that reports as c10/metal/error.h does: each thread whose number is not below 2 leaves a message.
target triple = "air64_v26-apple-macosx14.0.0"
@file = internal addrspace(2) constant [8 x i8] c"k.metal\00"
@func = internal addrspace(2) constant [9 x i8] c"complain\00"
@text = internal addrspace(2) constant [9 x i8] c"too large"
declare i32 @air.atomic.global.add.u.i32(ptr addrspace(1), i32, i32, i32, i1)
declare void @llvm.memcpy.p1.p2.i64(ptr addrspace(1), ptr addrspace(2), i64, i1)
define void @complain(ptr addrspace(1) %out, ptr addrspace(1) %errors, i32 %index) {
  %place = zext i32 %index to i64
  %address = getelementptr inbounds float, ptr addrspace(1) %out, i64 %place
  store float 1.0, ptr addrspace(1) %address, align 4
  %large = icmp ugt i32 %index, 1
  br i1 %large, label %report, label %end
report:
  %count = call i32 @air.atomic.global.add.u.i32(ptr addrspace(1) %errors, i32 1, i32 0, i32 2, i1 true)
  %room = icmp ult i32 %count, 30
  br i1 %room, label %write, label %end
write:
  %slot = zext i32 %count to i64
  %message = getelementptr { i32, [30 x { [128 x i8], [128 x i8], [250 x i8], i32 }] }, ptr addrspace(1) %errors, i64 0, i32 1, i64 %slot
  %f = getelementptr i8, ptr addrspace(1) %message, i64 0
  call void @llvm.memcpy.p1.p2.i64(ptr addrspace(1) %f, ptr addrspace(2) @file, i64 8, i1 false)
  %g = getelementptr i8, ptr addrspace(1) %message, i64 128
  call void @llvm.memcpy.p1.p2.i64(ptr addrspace(1) %g, ptr addrspace(2) @func, i64 9, i1 false)
  %t = getelementptr i8, ptr addrspace(1) %message, i64 256
  call void @llvm.memcpy.p1.p2.i64(ptr addrspace(1) %t, ptr addrspace(2) @text, i64 9, i1 false)
  %line = getelementptr i8, ptr addrspace(1) %message, i64 508
  store i32 7, ptr addrspace(1) %line, align 4
  br label %end
end:
  ret void
}
!air.kernel = !{!0}
!0 = !{ptr @complain, !1, !{!2, !3, !4}}
!1 = !{}
!2 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 1,
       !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"out"}
!3 = !{i32 1, !"air.buffer", !"air.location_index", i32 1, i32 1, !"air.read_write", !"air.address_space", i32 1,
       !"air.arg_type_size", i32 15364, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"ErrorMessages", !"air.arg_name", !"errors"}
!4 = !{i32 2, !"air.thread_position_in_grid", !"air.arg_type_name", !"uint", !"air.arg_name", !"index"}
