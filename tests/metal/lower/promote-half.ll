; PASS: promote-half
; On x86 halves are compared as floats, all lanes at once.
target triple = "x86_64-unknown-linux-gnu"

; CHECK-LABEL: define <8 x half> @smaller(
; CHECK: [[A:%.*]] = fpext <8 x half> %a to <8 x float>
; CHECK: [[B:%.*]] = fpext <8 x half> %b to <8 x float>
; CHECK: fcmp olt <8 x float> [[A]], [[B]]
; CHECK-NOT: sqrt.v8f16(
; CHECK: call <8 x float> @llvm.sqrt.v8f32
define <8 x half> @smaller(<8 x half> %a, <8 x half> %b) {
  %less = fcmp olt <8 x half> %a, %b
  %one = select <8 x i1> %less, <8 x half> %a, <8 x half> %b
  %root = call <8 x half> @llvm.sqrt.v8f16(<8 x half> %one)
  ret <8 x half> %root
}
declare <8 x half> @llvm.sqrt.v8f16(<8 x half>)

; A product that is added is fused, as products of floats are.
; CHECK-LABEL: define half @fused(
; CHECK: [[SUM:%.*]] = call float @llvm.fmuladd.f32(
; CHECK: fptrunc float [[SUM]] to half
define half @fused(half %a, half %b, half %c) {
  %sum = call half @llvm.fmuladd.f16(half %a, half %b, half %c)
  ret half %sum
}
declare half @llvm.fmuladd.f16(half, half, half)
