; PASS: simdgroup-hazards
; Lanes meet before one writes what another has just read, and before one reads what another has just written. They do
; not where each has a place of its own, where the memory is another, or behind a barrier.

declare void @air.wg.barrier(i32, i32)

; CHECK-LABEL: define void @k(
; CHECK: load float, ptr addrspace(1) %mine
; CHECK-NEXT: store float
; CHECK: %theirs = load float
; CHECK-NEXT: call void @air.simdgroup.barrier(
; CHECK-NEXT: store float %theirs
; CHECK: call void @air.wg.barrier(
; CHECK-NEXT: %after = load float
; CHECK-NEXT: store float %after, ptr addrspace(1) %elsewhere
; CHECK: loop:
; CHECK: call void @air.simdgroup.barrier(
; CHECK-NEXT: load float, ptr addrspace(3) %neighbour
; CHECK: call void @air.simdgroup.barrier(
; CHECK-NEXT: store float {{.*}}, ptr addrspace(3) %place
; CHECK-NOT: call void @air.simdgroup.barrier(
; CHECK: ret void
define void @k(ptr addrspace(1) %x, ptr addrspace(1) %y, i32 %i, i32 %j, i32 %n, ptr addrspace(3) %memory) {
entry:
  %own = zext i32 %i to i64
  %other = zext i32 %j to i64
  %mine = getelementptr float, ptr addrspace(1) %x, i64 %own
  %his = getelementptr float, ptr addrspace(1) %x, i64 %other
  %elsewhere = getelementptr float, ptr addrspace(1) %y, i64 %own
  %value = load float, ptr addrspace(1) %mine
  store float %value, ptr addrspace(1) %mine
  call void @air.wg.barrier(i32 1, i32 1)
  %theirs = load float, ptr addrspace(1) %his
  store float %theirs, ptr addrspace(1) %mine
  call void @air.wg.barrier(i32 1, i32 1)
  %after = load float, ptr addrspace(1) %his
  store float %after, ptr addrspace(1) %elsewhere
  br label %loop
loop:
  %k = phi i32 [ 0, %entry ], [ %next, %loop ]
  %place = getelementptr float, ptr addrspace(3) %memory, i64 %own
  %neighbour = getelementptr float, ptr addrspace(3) %memory, i64 %other
  %near = load float, ptr addrspace(3) %neighbour
  store float %near, ptr addrspace(3) %place
  %next = add i32 %k, 1
  %more = icmp ult i32 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
