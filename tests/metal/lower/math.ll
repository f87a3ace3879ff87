; PASS: math
; Exact operations are LLVM's own; half goes through float; fast forms are the precise ones.

; CHECK-LABEL: define float @air.fast_exp.f32(float
; CHECK: call float @llvm.exp.f32
declare float @air.fast_exp.f32(float)

; CHECK-LABEL: define half @air.sin.f16(half
; CHECK: fpext half %{{.*}} to float
; CHECK: call float @llvm.sin.f32
; CHECK: fptrunc float %{{.*}} to half
declare half @air.sin.f16(half)

; CHECK-LABEL: define <2 x float> @air.fma.v2f32(
; CHECK: call <2 x float> @llvm.fma.v2f32
declare <2 x float> @air.fma.v2f32(<2 x float>, <2 x float>, <2 x float>)

; CHECK-LABEL: define float @air.rsqrt.f32(float
; CHECK: [[ROOT:%.*]] = call float @llvm.sqrt.f32
; CHECK: [[NEAR:%.*]] = fdiv float 1.000000e+00, [[ROOT]]
; CHECK: call float @llvm.fma.f32(float [[NEAR]], float {{.*}}, float [[NEAR]])
declare float @air.rsqrt.f32(float)

; CHECK-LABEL: define float @air.saturate.f32(float
; CHECK: [[LOW:%.*]] = call float @llvm.maxnum.f32(float %{{.*}}, float 0.000000e+00)
; CHECK: call float @llvm.minnum.f32(float [[LOW]], float 1.000000e+00)
declare float @air.saturate.f32(float)

; What no pass knows stays a declaration.
; CHECK: declare float @air.mystery.f32(float)
declare float @air.mystery.f32(float)

define float @use(float %x, half %h, <2 x float> %v) {
  %a = call float @air.fast_exp.f32(float %x)
  %b = call half @air.sin.f16(half %h)
  %c = call <2 x float> @air.fma.v2f32(<2 x float> %v, <2 x float> %v, <2 x float> %v)
  %d = call float @air.rsqrt.f32(float %a)
  %e = call float @air.saturate.f32(float %d)
  %f = call float @air.mystery.f32(float %e)
  ret float %f
}
