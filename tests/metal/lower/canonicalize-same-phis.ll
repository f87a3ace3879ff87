; PASS: canonicalize
; Ways that have all computed the same do not part lanes.

; CHECK-LABEL: define void @k(
; CHECK-NOT: phi
; CHECK: sub i32 1, %from
define void @k(ptr %to, i32 %from, i32 %lane) {
entry:
  %c = icmp ult i32 %lane, 5
  br i1 %c, label %inside, label %outside
inside:
  %a = sub i32 1, %from
  store volatile i32 %a, ptr %to
  br label %end
outside:
  %b = sub i32 1, %from
  br label %end
end:
  %next = phi i32 [ %a, %inside ], [ %b, %outside ]
  %at = getelementptr i32, ptr %to, i32 %lane
  store i32 %next, ptr %at
  ret void
}
