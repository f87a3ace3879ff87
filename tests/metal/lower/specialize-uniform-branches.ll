; PASS: specialize-uniform-branches
; The side of a branch by position has a copy for when all lanes take it; that one lane is equal to something has not.

; CHECK-LABEL: define void @k(
; CHECK: [[INSIDE:%.*]] = icmp ult i32 %lane, %count
; CHECK: [[ALL:%.*]] = call i1 @air.simd_surely(i1 [[INSIDE]])
; CHECK: br i1 [[ALL]], label %inside.all, label %parting
; CHECK: parting:
; CHECK-NEXT: br i1 [[INSIDE]], label %inside, label %middle
; CHECK: middle:
; CHECK-NOT: simd_surely
; CHECK: br i1 %first, label %only, label %end
; CHECK: inside.all:
; CHECK: store i32 %count
define void @k(ptr %to, i32 %count, i32 %lane) {
entry:
  %c = icmp ult i32 %lane, %count
  br i1 %c, label %inside, label %middle
inside:
  %at = getelementptr i32, ptr %to, i32 %lane
  store i32 %count, ptr %at
  br label %middle
middle:
  %first = icmp eq i32 %lane, %count
  br i1 %first, label %only, label %end
only:
  store i32 0, ptr %to
  br label %end
end:
  ret void
}
