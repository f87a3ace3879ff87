; PASS: thread-indices
; Where a thread asks for its place by a function, the kernel gets a parameter that says it.

; CHECK: define void @k(ptr addrspace(1) %{{[0-9]+}}, i32 %{{[0-9]+}}, i32 [[LANE:%[0-9]+]], i32 [[SIMDGROUP:%[0-9]+]]) {
; CHECK-NOT: call
; CHECK: [[NARROW:%[0-9]+]] = trunc i32 [[LANE]] to i16
; CHECK: zext i16 [[NARROW]] to i32
; CHECK: add i32 %{{.*}}, [[LANE]]
; CHECK: add i32 %{{.*}}, [[SIMDGROUP]]
declare i16 @air.get_thread_index_in_simdgroup.i16()
declare i32 @air.get_thread_index_in_simdgroup.i32()
declare i32 @air.get_simdgroup_index_in_threadgroup.i32()
define void @k(ptr addrspace(1) %out, i32 %i) {
  %a = call i16 @air.get_thread_index_in_simdgroup.i16()
  %w = zext i16 %a to i32
  %b = call i32 @air.get_thread_index_in_simdgroup.i32()
  %c = call i32 @air.get_simdgroup_index_in_threadgroup.i32()
  %ab = add i32 %w, %b
  %abc = add i32 %ab, %c
  store i32 %abc, ptr addrspace(1) %out
  ret void
}
; The index in a simdgroup, and the simdgroup's.
; CHECK: !"role 10"
; CHECK: !"role 11"
