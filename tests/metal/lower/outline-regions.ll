; PASS: outline-regions
; What meets nobody and needs many registers is a function of its own, given what lanes share and the first of its
; lanes; "inside" and where a thread is are computed there again. What lanes differ in goes through memory.

; CHECK-LABEL: define void @k(
; CHECK: [[PART:%.*]] = call { float } @anymps.part(ptr %x)
; CHECK: [[SUM:%.*]] = extractvalue { float } [[PART]], 0
; CHECK: call float @air.simd_sum.f32(float [[SUM]])
; CHECK-NOT: load <4 x float>
; CHECK: ret void

; CHECK-LABEL: define internal void @part.thread(
; CHECK-SAME: ptr %0, ptr %1, i32 %2, i32 %3)
; CHECK: [[PLACE:%.*]] = add nuw nsw i32 %2, %3
; CHECK: getelementptr <4 x float>, ptr %0, i32 [[PLACE]]
; CHECK: load <4 x float>
; CHECK: [[ROW:%.*]] = getelementptr inbounds float, ptr {{%.*}}, i64
; CHECK: store float {{%.*}}, ptr [[ROW]]
; CHECK: ret void
declare float @air.simd_sum.f32(float)
define void @k(ptr %x, ptr %out, i32 %lane) {
entry:
  %at = getelementptr <4 x float>, ptr %x, i32 %lane
  %v = load <4 x float>, ptr %at
  %w = fmul <4 x float> %v, %v
  %a = extractelement <4 x float> %w, i32 0
  %b = extractelement <4 x float> %w, i32 1
  %c = fadd float %a, %b
  %sum = call float @air.simd_sum.f32(float %c)
  store float %sum, ptr %out
  ret void
}
