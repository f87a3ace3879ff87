; PASS: atomics
; The order that a kernel asks for is an operand; the strongest serves all.

; CHECK-LABEL: define i32 @air.atomic.global.add.s.i32(
; CHECK: atomicrmw add ptr addrspace(1) %{{.*}}, i32 %{{.*}} seq_cst
declare i32 @air.atomic.global.add.s.i32(ptr addrspace(1), i32, i32, i32, i1)
; CHECK-LABEL: define i32 @air.atomic.local.max.u.i32(
; CHECK: atomicrmw umax ptr addrspace(3) %{{.*}}, i32 %{{.*}} seq_cst
declare i32 @air.atomic.local.max.u.i32(ptr addrspace(3), i32, i32, i32, i1)
; CHECK-LABEL: define float @air.atomic.global.add.f32(
; CHECK: atomicrmw fadd ptr addrspace(1)
declare float @air.atomic.global.add.f32(ptr addrspace(1), float, i32, i32, i1)
; CHECK-LABEL: define void @air.atomic.global.min.u.i64(
; CHECK: atomicrmw umin ptr addrspace(1) %{{.*}}, i64
; CHECK: ret void
declare void @air.atomic.global.min.u.i64(ptr addrspace(1), i64, i32, i32, i1)
; CHECK-LABEL: define i32 @air.atomic.global.load.i32(
; CHECK: load atomic i32, ptr addrspace(1) %{{.*}} seq_cst, align 4
declare i32 @air.atomic.global.load.i32(ptr addrspace(1), i32, i32, i1)
; CHECK-LABEL: define i32 @air.atomic.global.cmpxchg.weak.i32(
; CHECK: [[WANTED:%.*]] = load i32, ptr
; CHECK: [[PAIR:%.*]] = cmpxchg ptr addrspace(1) %{{.*}}, i32 [[WANTED]], i32 %{{.*}} seq_cst seq_cst
; CHECK: [[OLD:%.*]] = extractvalue { i32, i1 } [[PAIR]], 0
; CHECK: store i32 [[OLD]], ptr
declare i32 @air.atomic.global.cmpxchg.weak.i32(ptr addrspace(1), ptr, i32, i32, i32, i32, i1)
; CHECK-LABEL: define void @air.atomic.fence(
; CHECK: fence seq_cst
declare void @air.atomic.fence(i32, i32, i32)

define void @use(ptr addrspace(1) %d, ptr addrspace(3) %t, ptr %expected) {
  %a = call i32 @air.atomic.global.add.s.i32(ptr addrspace(1) %d, i32 1, i32 0, i32 2, i1 true)
  %b = call i32 @air.atomic.local.max.u.i32(ptr addrspace(3) %t, i32 1, i32 0, i32 1, i1 true)
  %c = call float @air.atomic.global.add.f32(ptr addrspace(1) %d, float 1.0, i32 0, i32 2, i1 true)
  call void @air.atomic.global.min.u.i64(ptr addrspace(1) %d, i64 1, i32 0, i32 2, i1 true)
  %e = call i32 @air.atomic.global.load.i32(ptr addrspace(1) %d, i32 0, i32 2, i1 true)
  %f = call i32 @air.atomic.global.cmpxchg.weak.i32(ptr addrspace(1) %d, ptr %expected, i32 5, i32 0, i32 0, i32 2, i1 true)
  call void @air.atomic.fence(i32 1, i32 5, i32 2)
  ret void
}
