; PASS: reconvergence-order
; Blocks lie in the order in which lanes come to them, whatever the compiler's was, and a round of a loop in which some
; lanes may skip a meeting ends with a barrier of the simdgroup.

declare i32 @air.simd_sum.u.i32(i32)

; CHECK-LABEL: define void @k(
; CHECK: entry:
; CHECK: head:
; CHECK: body:
; CHECK: does:
; CHECK: call i32 @air.simd_sum.u.i32(i32 1)
; CHECK: head.round:
; CHECK: call void @air.simdgroup.barrier(
; CHECK: br label %head
; CHECK: behind:
; CHECK: call i32 @air.simd_sum.u.i32(i32 1000)
define void @k(ptr addrspace(1) %out, i32 %n, i1 %c) {
entry:
  br label %head
behind:
  %all = call i32 @air.simd_sum.u.i32(i32 1000)
  store i32 %all, ptr addrspace(1) %out
  ret void
does:
  %sum = call i32 @air.simd_sum.u.i32(i32 1)
  store i32 %sum, ptr addrspace(1) %out
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %j, %body ], [ %j, %does ]
  %more = icmp ult i32 %i, %n
  br i1 %more, label %body, label %behind
body:
  %j = add i32 %i, 1
  br i1 %c, label %does, label %head
}
