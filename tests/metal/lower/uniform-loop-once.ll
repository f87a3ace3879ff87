; PASS: uniform-loop-once
; A loop behind a barrier that gives all threads the same is run by the first; one that depends on the thread, and one
; behind a store, are run by each.

; CHECK: @once = internal addrspace(3) global { i32, float } zeroinitializer
; CHECK-NOT: @once.1
; CHECK-LABEL: define void @k(
; CHECK: call void @air.wg.barrier
; CHECK: [[FLAG:%.*]] = load i32, ptr addrspace(3) @once
; CHECK: [[THERE:%.*]] = icmp ne i32 [[FLAG]], 0
; CHECK: br i1 [[THERE]], label %found, label %enter
; CHECK: .leave:
; CHECK: store float %{{.*}}, ptr addrspace(3) getelementptr inbounds ({ i32, float }, ptr addrspace(3) @once, i32 0, i32 1)
; CHECK: store i32 1, ptr addrspace(3) @once
; CHECK: found:
; CHECK: load float, ptr addrspace(3) getelementptr inbounds ({ i32, float }, ptr addrspace(3) @once, i32 0, i32 1)
@shared = internal addrspace(3) global [64 x float] undef

declare void @air.wg.barrier(i32, i32)

define void @k(ptr addrspace(1) %to, i32 %i) {
entry:
  %own = getelementptr [64 x float], ptr addrspace(3) @shared, i32 0, i32 %i
  store float 1.0, ptr addrspace(3) %own
  call void @air.wg.barrier(i32 2, i32 1)
  br label %all
all:
  %at = phi i32 [ 0, %entry ], [ %next, %all ]
  %sum = phi float [ 0.0, %entry ], [ %more, %all ]
  %from = getelementptr [64 x float], ptr addrspace(3) @shared, i32 0, i32 %at
  %one = load float, ptr addrspace(3) %from
  %more = fadd float %sum, %one
  %next = add i32 %at, 1
  %again = icmp ult i32 %next, 64
  br i1 %again, label %all, label %between
between:
  call void @air.wg.barrier(i32 2, i32 1)
  br label %mine
mine:
  %at2 = phi i32 [ %i, %between ], [ %next2, %mine ]
  %sum2 = phi float [ %more, %between ], [ %more2, %mine ]
  %from2 = getelementptr [64 x float], ptr addrspace(3) @shared, i32 0, i32 %at2
  %one2 = load float, ptr addrspace(3) %from2
  %more2 = fadd float %sum2, %one2
  %next2 = add i32 %at2, 1
  %again2 = icmp ult i32 %next2, 64
  br i1 %again2, label %mine, label %stored
stored:
  call void @air.wg.barrier(i32 2, i32 1)
  store float %more2, ptr addrspace(3) %own
  br label %changed
changed:
  %at3 = phi i32 [ 0, %stored ], [ %next3, %changed ]
  %sum3 = phi float [ 0.0, %stored ], [ %more3, %changed ]
  %from3 = getelementptr [64 x float], ptr addrspace(3) @shared, i32 0, i32 %at3
  %one3 = load float, ptr addrspace(3) %from3
  %more3 = fadd float %sum3, %one3
  %next3 = add i32 %at3, 1
  %again3 = icmp ult i32 %next3, 64
  br i1 %again3, label %changed, label %end
end:
  %out = getelementptr float, ptr addrspace(1) %to, i32 %i
  store float %more3, ptr addrspace(1) %out
  ret void
}
