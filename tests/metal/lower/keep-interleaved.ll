; PASS: keep-interleaved
; Pairs that are treated alike and stored stay side by side; so do sums of pairs, until behind the loop.

; CHECK-LABEL: define void @scaled(
; CHECK: [[X:%.*]] = load <8 x float>
; CHECK: [[SCALES:%.*]] = shufflevector <2 x float>
; CHECK: [[Y:%.*]] = fmul <8 x float> [[X]], [[SCALES]]
; CHECK: store <8 x float> [[Y]]
define void @scaled(ptr %x, ptr %y, <4 x float> %a, float %b) {
  %all = load <8 x float>, ptr %x
  %even = shufflevector <8 x float> %all, <8 x float> poison, <4 x i32> <i32 0, i32 2, i32 4, i32 6>
  %odd = shufflevector <8 x float> %all, <8 x float> poison, <4 x i32> <i32 1, i32 3, i32 5, i32 7>
  %one = insertelement <4 x float> poison, float %b, i32 0
  %same = shufflevector <4 x float> %one, <4 x float> poison, <4 x i32> zeroinitializer
  %e = fmul <4 x float> %even, %same
  %o = fmul <4 x float> %odd, %same
  %side = shufflevector <4 x float> %e, <4 x float> %o, <8 x i32> <i32 0, i32 4, i32 1, i32 5, i32 2, i32 6, i32 3, i32 7>
  store <8 x float> %side, ptr %y
  ret void
}

; What is not treated alike is left as it is.
; CHECK-LABEL: define void @unlike(
; CHECK: fmul <4 x float>
; CHECK: fadd <4 x float>
; CHECK-NOT: <8 x float> {{%.*}}, {{%.*}}
; CHECK: ret void
define void @unlike(ptr %x, ptr %y) {
  %all = load <8 x float>, ptr %x
  %even = shufflevector <8 x float> %all, <8 x float> poison, <4 x i32> <i32 0, i32 2, i32 4, i32 6>
  %odd = shufflevector <8 x float> %all, <8 x float> poison, <4 x i32> <i32 1, i32 3, i32 5, i32 7>
  %e = fmul <4 x float> %even, %even
  %o = fadd <4 x float> %odd, %odd
  %side = shufflevector <4 x float> %e, <4 x float> %o, <8 x i32> <i32 0, i32 4, i32 1, i32 5, i32 2, i32 6, i32 3, i32 7>
  store <8 x float> %side, ptr %y
  ret void
}

; CHECK-LABEL: define <4 x float> @summed(
; CHECK: loop:
; CHECK: [[SUM:%.*]] = phi <8 x float> [ [[NEXT:%.*]], %loop ], [ zeroinitializer, %entry ]
; CHECK-NOT: shufflevector
; CHECK: [[NEXT]] = fadd <8 x float>
; CHECK: end:
; CHECK: [[EVEN:%.*]] = shufflevector <8 x float> [[NEXT]], <8 x float> poison, <4 x i32> <i32 0, i32 2, i32 4, i32 6>
; CHECK: [[ODD:%.*]] = shufflevector <8 x float> [[NEXT]], <8 x float> poison, <4 x i32> <i32 1, i32 3, i32 5, i32 7>
; CHECK: fadd <4 x float> [[EVEN]], [[ODD]]
define <4 x float> @summed(ptr %x, i32 %count) {
entry:
  br label %loop
loop:
  %i = phi i32 [ %j, %loop ], [ 0, %entry ]
  %e = phi <4 x float> [ %en, %loop ], [ zeroinitializer, %entry ]
  %o = phi <4 x float> [ %on, %loop ], [ zeroinitializer, %entry ]
  %at = getelementptr <8 x float>, ptr %x, i32 %i
  %all = load <8 x float>, ptr %at
  %even = shufflevector <8 x float> %all, <8 x float> poison, <4 x i32> <i32 0, i32 2, i32 4, i32 6>
  %odd = shufflevector <8 x float> %all, <8 x float> poison, <4 x i32> <i32 1, i32 3, i32 5, i32 7>
  %en = fadd <4 x float> %e, %even
  %on = fadd <4 x float> %o, %odd
  %j = add i32 %i, 1
  %more = icmp ult i32 %j, %count
  br i1 %more, label %loop, label %end
end:
  %sum = fadd <4 x float> %en, %on
  ret <4 x float> %sum
}
