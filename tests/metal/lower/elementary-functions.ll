; PASS: elementary-functions
; No branch and no call but the fused multiply-add, in any width; half goes through float.

; CHECK-LABEL: define float @air.exp.f32(float
; CHECK-NOT: {{br |call float @(exp|llvm\.exp)}}
; CHECK: call float @llvm.fma.f32(float %{{.*}}, float 0x3FF7154760000000, float 0x4168000000000000)
; CHECK: ret float
declare float @air.exp.f32(float)

; CHECK-LABEL: define <4 x half> @air.fast_log2.v4f16(<4 x half>
; CHECK: fpext <4 x half> %{{.*}} to <4 x float>
; CHECK: call <4 x float> @llvm.fma.v4f32
; CHECK: fptrunc <4 x float> %{{.*}} to <4 x half>
declare <4 x half> @air.fast_log2.v4f16(<4 x half>)

; Far from zero the C library knows better.
; CHECK-LABEL: define float @air.sin.f32(float
; CHECK: [[FAR:%.*]] = fcmp ogt float %{{.*}}, 1.310720e+05
; CHECK: br i1 [[FAR]], label %far, label %done, !prof
; CHECK: call float @anymps_far_sin(float %{{.*}})
declare float @air.sin.f32(float)

declare float @air.pow.f32(float, float)

; CHECK: declare float @air.mystery.f32(float)
declare float @air.mystery.f32(float)

; A square needs no power.
; CHECK-LABEL: define float @use
; CHECK: call float @air.pow.f32(float %c, float 3.000000e+00)
; CHECK: fmul float %d, %d
define float @use(float %x, <4 x half> %v) {
  %a = call float @air.exp.f32(float %x)
  %b = call <4 x half> @air.fast_log2.v4f16(<4 x half> %v)
  %c = call float @air.sin.f32(float %a)
  %d = call float @air.pow.f32(float %c, float 3.0)
  %e = call float @air.pow.f32(float %d, float 2.0)
  %f = call float @air.mystery.f32(float %e)
  ret float %f
}

declare float @air.convert.f.f32.s.i32(i32)
; A power of a count is products while the count is small.
; CHECK-LABEL: define float @series(
; CHECK: [[FEW:%.*]] = icmp ult i32 %i, 8
; CHECK: br i1 [[FEW]]
; CHECK: [[SQUARE:%.*]] = fmul float %x, %x
; CHECK: call float @air.pow.f32(float %x, float %count)
; CHECK: phi float
define float @series(float %x, i32 %i) {
  %count = call float @air.convert.f.f32.s.i32(i32 %i)
  %power = call float @air.pow.f32(float %x, float %count)
  ret float %power
}
