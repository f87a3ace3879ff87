; PASS: work-item-loop
; One function for a threadgroup: three loops, the innermost with independent accesses.

; CHECK-LABEL: define internal void @k(
; CHECK: store float 1.000000e+00, ptr addrspace(1) %{{.*}}, !llvm.access.group [[GROUP:![0-9]+]]
define void @k(ptr addrspace(1) %out, i32 %i, ptr addrspace(3) %memory) {
  %own = alloca i32
  %n = zext i32 %i to i64
  %to = getelementptr float, ptr addrspace(1) %out, i64 %n
  store float 1.0, ptr addrspace(1) %to
  ; A thread's own variable is not independent of the next thread's: it is the same memory.
  ; CHECK: store i32 %{{[^,]*}}, ptr %own, align 4{{$}}
  store i32 %i, ptr %own
  ret void
}

; CHECK-LABEL: define void @run(ptr %0, ptr %1, i32 %2, i32 %3, i32 %4, ptr %5)
; The last threadgroup may be smaller.
; CHECK: call i32 @llvm.umin.i32
; CHECK: call void @k(
; CHECK: br i1 %{{.*}}, label %{{.*}}, label %{{.*}}, !llvm.loop [[LOOP:![0-9]+]]
; CHECK-DAG: [[LOOP]] = distinct !{[[LOOP]], [[ACCESSES:![0-9]+]]}
; CHECK-DAG: [[ACCESSES]] = !{!"llvm.loop.parallel_accesses", [[GROUP]]}
