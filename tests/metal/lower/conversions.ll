; PASS: conversions

; CHECK-LABEL: define i8 @air.convert.s.i8.f.f32(
; CHECK: call i8 @llvm.fptosi.sat.i8.f32
declare i8 @air.convert.s.i8.f.f32(float)
; CHECK-LABEL: define i32 @air.convert.u.i32.f.f16(
; CHECK: fpext half %{{.*}} to float
; CHECK: call i32 @llvm.fptoui.sat.i32.f32
declare i32 @air.convert.u.i32.f.f16(half)
; CHECK-LABEL: define bfloat @air.convert.f.bf16.s.i64(
; CHECK: sitofp i64 %{{.*}} to float
; CHECK: fptrunc float %{{.*}} to bfloat
declare bfloat @air.convert.f.bf16.s.i64(i64)
; CHECK-LABEL: define half @air.convert.f.f16.f.bf16(
; CHECK: fpext bfloat %{{.*}} to float
; CHECK: fptrunc float %{{.*}} to half
declare half @air.convert.f.f16.f.bf16(bfloat)
; CHECK-LABEL: define <4 x float> @air.convert.f.v4f32.u.v4i8(
; CHECK: uitofp <4 x i8> %{{.*}} to <4 x float>
declare <4 x float> @air.convert.f.v4f32.u.v4i8(<4 x i8>)

define void @use(float %x, half %h, i64 %n, <4 x i8> %v) {
  %a = call i8 @air.convert.s.i8.f.f32(float %x)
  %b = call i32 @air.convert.u.i32.f.f16(half %h)
  %c = call bfloat @air.convert.f.bf16.s.i64(i64 %n)
  %d = call half @air.convert.f.f16.f.bf16(bfloat %c)
  %e = call <4 x float> @air.convert.f.v4f32.u.v4i8(<4 x i8> %v)
  ret void
}
