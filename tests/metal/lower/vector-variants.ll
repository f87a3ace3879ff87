; PASS: vector-variants
; A loop that was vectorised around a call which few threads make: the form asks first whether anybody calls.

; CHECK-LABEL: define <4 x float> @k(
; CHECK: call float @far(float %x) [[CALL:#[0-9]+]]
define <4 x float> @k(float %x, <4 x float> %xs, <4 x i1> %who) {
  %y = call float @far(float %x)
  %ys = insertelement <4 x float> %xs, float %y, i32 0
  ret <4 x float> %ys
}
declare float @far(float) "anymps.seldom"

; CHECK: define internal <4 x float> @far.4(<4 x float> %0, <4 x i1> %1) [[FORM:#[0-9]+]]
; CHECK: [[ALL:%.*]] = bitcast <4 x i1> %1 to i4
; CHECK: [[SOME:%.*]] = icmp ne i4 [[ALL]], 0
; CHECK: br i1 [[SOME]], label %lane, label %done, !prof
; CHECK: call float @far
; CHECK-NOT: @far.8

; CHECK: attributes [[FORM]] = { alwaysinline {{.*}}}
; CHECK: attributes [[CALL]] = { "vector-function-abi-variant"="{{.*}}_ZGV_LLVM_M4v_far(far.4)
