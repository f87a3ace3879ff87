; PASS: expand-bfloat
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

; CHECK-LABEL: define void @from_integers(
define void @from_integers(ptr %to, <8 x i16> %x) {
  ; CHECK: sitofp <8 x i16> %x to <8 x float>
  ; CHECK-NOT: bfloat
  ; CHECK: store <8 x i16>
  %y = sitofp <8 x i16> %x to <8 x bfloat>
  store <8 x bfloat> %y, ptr %to
  ret void
}

; CHECK-LABEL: define void @gathered(
define void @gathered(ptr %to, <4 x ptr> %from, <4 x i1> %mask) {
  ; CHECK: call <4 x i16> @llvm.masked.gather.v4i16.v4p0(<4 x ptr> %from, i32 2, <4 x i1> %mask
  ; CHECK: and <4 x i16> %{{.*}}, <i16 32767
  %x = call <4 x bfloat> @llvm.masked.gather.v4bf16.v4p0(<4 x ptr> %from, i32 2, <4 x i1> %mask, <4 x bfloat> zeroinitializer)
  %y = call <4 x bfloat> @llvm.fabs.v4bf16(<4 x bfloat> %x)
  store <4 x bfloat> %y, ptr %to
  ret void
}
declare <4 x bfloat> @llvm.masked.gather.v4bf16.v4p0(<4 x ptr>, i32, <4 x i1>, <4 x bfloat>)
declare <4 x bfloat> @llvm.fabs.v4bf16(<4 x bfloat>)

; A function that is not inlined.
; CHECK-LABEL: define void @calls(
define void @calls(ptr %p) {
  ; CHECK: [[A:%.*]] = load i16, ptr %p
  ; CHECK: [[B:%.*]] = call i16 @halved(i16 noundef [[A]])
  ; CHECK: store i16 [[B]], ptr %p
  %a = load bfloat, ptr %p
  %b = call bfloat @halved(bfloat noundef %a)
  store bfloat %b, ptr %p
  ret void
}

; CHECK-LABEL: define internal i16 @halved(
; CHECK-SAME: i16 noundef %
; CHECK: ret i16
define internal bfloat @halved(bfloat noundef %x) {
  %y = fmul bfloat %x, 0xR3F00
  ret bfloat %y
}
