; PASS: coroutines
; A thread leaves its operand and its place, suspends, and takes its result.

declare void @air.wg.barrier(i32, i32)
declare float @air.simd_sum.f32(float)

define void @k(ptr addrspace(1) %out, i32 %i, ptr addrspace(3) %memory) {
  %n = zext i32 %i to i64
  %to = getelementptr float, ptr addrspace(1) %out, i64 %n
  %x = load float, ptr addrspace(1) %to
  %sum = call float @air.simd_sum.f32(float %x)
  call void @air.wg.barrier(i32 2, i32 1)
  store float %sum, ptr addrspace(1) %to
  ret void
}

; CHECK-LABEL: define internal ptr @thread(
; CHECK: call token @llvm.coro.id(
; CHECK: [[HANDLE:%.*]] = call ptr @llvm.coro.begin(
; The operand, and 1 for the first place.
; CHECK: store float %{{.*}}, ptr
; CHECK: store i32 1, ptr
; CHECK: call i8 @llvm.coro.suspend(token none, i1 false)
; CHECK: load float, ptr
; CHECK: store i32 2, ptr
; CHECK: call i8 @llvm.coro.suspend(token none, i1 false)
; CHECK: store float
; At its end a thread waits nowhere.
; CHECK: store i32 0, ptr
; CHECK: call i8 @llvm.coro.suspend(token none, i1 true)
; CHECK-NOT: call {{.*}}@air.
; CHECK-LABEL: define void @run(
; CHECK: call ptr @thread(
; CHECK: !{!"meeting {{[0-9]+}} of 32 lanes, 4 bytes"}
; CHECK: !{!"meeting 0 of 32 lanes, 0 bytes"}
