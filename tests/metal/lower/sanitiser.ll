; PASS: sanitiser
; Each access asks for its address first, and each round of a loop whether to go on.

@shared = internal addrspace(3) global float undef, align 4
@table = internal addrspace(2) constant [2 x float] [float 1.0, float 2.0], align 4
declare void @air.wg.barrier(i32, i32)

define void @k(ptr addrspace(1) %out, i32 %i) {
  %own = alloca float
  store float 0.0, ptr %own
  store float 1.0, ptr addrspace(3) @shared, align 4
  call void @air.wg.barrier(i32 2, i32 1)
  br label %loop
loop:
  %k = phi i32 [ 0, %0 ], [ %next, %loop ]
  %to = getelementptr float, ptr addrspace(1) %out, i32 %k
  %x = load <2 x float>, ptr addrspace(1) %to, align 8
  %y = load float, ptr addrspace(2) @table, align 4
  %next = add i32 %k, 1
  %again = icmp ult i32 %next, %i
  br i1 %again, label %loop, label %end
end:
  %from = load ptr addrspace(1), ptr addrspace(1) %out, align 8
  %z = load float, ptr addrspace(1) %from, align 4
  ret void
}

; CHECK-LABEL: define internal ptr @thread(
; A thread's own memory is not watched.
; CHECK: store float 0.000000e+00, ptr %own
; CHECK: [[PLACE:%.*]] = call ptr @anymps_validate_access(ptr %{{.*}}, i64 4, i32 1, i32 [[INDEX:%.*]])
; CHECK: [[THERE:%.*]] = addrspacecast ptr [[PLACE]] to ptr addrspace(3)
; CHECK: store float 1.000000e+00, ptr addrspace(3) [[THERE]], align 1
; CHECK: [[STOP:%.*]] = call i1 @anymps_validate_loop(i32 5, i32 [[INDEX]])
; CHECK: br i1 [[STOP]], label %finished, label %loop
; CHECK: call ptr @anymps_validate_access(ptr %{{.*}}, i64 8, i32 2, i32 [[INDEX]])
; CHECK: load <2 x float>, ptr addrspace(1) %{{.*}}, align 1
; Nor are the module's constants.
; CHECK: load float, ptr addrspace(2) @table, align 4
; CHECK: call ptr @anymps_validate_access(ptr %{{.*}}, i64 8, i32 3,
; CHECK: call ptr @anymps_validate_access(ptr %{{.*}}, i64 4, i32 4,
; CHECK-LABEL: define void @run(
; The barrier; the accesses, of which the last is through an address from memory; the loop.
; CHECK: !{!"site of kind 5"}
; CHECK: !{!"site of kind 1 parameter 0 shared"}
; CHECK: !{!"site of kind 0 parameter 0 "}
; CHECK: !{!"site of kind 0"}
; CHECK: !{!"site of kind 6"}
