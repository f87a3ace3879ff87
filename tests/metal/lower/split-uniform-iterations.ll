; PASS: split-uniform-iterations
; Rounds that all lanes run are a loop of their own.

; CHECK-LABEL: define void @k(
; CHECK: round.all:
; CHECK: [[AGAIN:%.*]] = call i1 @air.simd_surely(
; CHECK: br i1 [[AGAIN]], label %round.all, label %parting
; CHECK: parting:
; CHECK: br i1 %{{.*}}, label %round, label %end
define void @k(ptr %to, i32 %count, i32 %lane) {
entry:
  br label %round
round:
  %i = phi i32 [ %lane, %entry ], [ %next, %round ]
  %at = getelementptr i32, ptr %to, i32 %i
  store i32 %i, ptr %at
  %next = add i32 %i, 32
  %more = icmp ult i32 %next, %count
  br i1 %more, label %round, label %end
end:
  ret void
}
