; PASS: bfloats
; What is only moved is moved as a word; what is computed with becomes a float.

; CHECK-LABEL: define void @move(
define void @move(ptr %to, ptr %from, i1 %c) {
entry:
  ; CHECK: [[A:%.*]] = load i16, ptr %from
  %a = load bfloat, ptr %from
  br i1 %c, label %other, label %end
other:
  ; CHECK: [[B:%.*]] = load i16, ptr %to
  %b = load bfloat, ptr %to
  br label %end
end:
  ; CHECK: [[X:%.*]] = phi i16 [ [[A]], %entry ], [ [[B]], %other ]
  %x = phi bfloat [ %a, %entry ], [ %b, %other ]
  ; CHECK: store i16 [[X]], ptr %to
  store bfloat %x, ptr %to
  ret void
}

; CHECK-LABEL: define i1 @less(
define i1 @less(ptr %p, ptr %q) {
  %a = load bfloat, ptr %p
  %b = load bfloat, ptr %q
  ; CHECK: shl i32 %{{.*}}, 16
  ; CHECK: fcmp olt float
  %less = fcmp olt bfloat %a, %b
  ret i1 %less
}
