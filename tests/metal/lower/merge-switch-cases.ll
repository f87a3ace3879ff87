; PASS: merge-switch-cases
; Nine cases that compute the same of other constants are one, and the constants come from a table; a tenth that does
; something else stays.

; CHECK: @cases = internal addrspace(2) constant [9 x [2 x float]]
; CHECK-SAME: [2 x float] [float 0.000000e+00, float 5.000000e-01], [2 x float] [float 1.000000e+00, float 1.500000e+00]
; CHECK-LABEL: define float @k(
; CHECK: [[PLACE:%.*]] = sub i32 %i, 3
; CHECK: [[INDEX:%.*]] = call i32 @llvm.umin.i32(i32 [[PLACE]], i32 8)
; CHECK: [[WIDE:%.*]] = zext i32 [[INDEX]] to i64
; CHECK: [[AT:%.*]] = getelementptr inbounds [2 x float], ptr addrspace(2) @cases, i64 [[WIDE]]
; CHECK: [[ROW:%.*]] = load <2 x float>, ptr addrspace(2) [[AT]], align 4, !invariant.load
; CHECK: [[ADDED:%.*]] = extractelement <2 x float> [[ROW]], i64 0
; CHECK: [[FACTOR:%.*]] = extractelement <2 x float> [[ROW]], i64 1
; CHECK: i32 3, label %c0
; CHECK: i32 11, label %c0
; CHECK: i32 12, label %other
; CHECK: c0:
; CHECK: call float @llvm.fmuladd.f32(float %x, float 2.000000e+00, float [[ADDED]])
; CHECK: fmul float {{%.*}}, [[FACTOR]]
; CHECK-NOT: fmuladd
; CHECK: other:
; CHECK: phi float [ %u0, %c0 ], [ %v, %other ], [ 0.000000e+00, %entry ]
declare float @llvm.fmuladd.f32(float, float, float)
define float @k(float %x, i32 %i) {
entry:
  switch i32 %i, label %end [
    i32 3, label %c0
    i32 4, label %c1
    i32 5, label %c2
    i32 6, label %c3
    i32 7, label %c4
    i32 8, label %c5
    i32 9, label %c6
    i32 10, label %c7
    i32 11, label %c8
    i32 12, label %other
  ]
c0:
  %t0 = call float @llvm.fmuladd.f32(float %x, float 2.0, float 0.0)
  %u0 = fmul float %t0, 0.5
  br label %end
c1:
  %t1 = call float @llvm.fmuladd.f32(float %x, float 2.0, float 1.0)
  %u1 = fmul float %t1, 1.5
  br label %end
c2:
  %t2 = call float @llvm.fmuladd.f32(float %x, float 2.0, float 2.0)
  %u2 = fmul float %t2, 2.5
  br label %end
c3:
  %t3 = call float @llvm.fmuladd.f32(float %x, float 2.0, float 3.0)
  %u3 = fmul float %t3, 3.5
  br label %end
c4:
  %t4 = call float @llvm.fmuladd.f32(float %x, float 2.0, float 4.0)
  %u4 = fmul float %t4, 4.5
  br label %end
c5:
  %t5 = call float @llvm.fmuladd.f32(float %x, float 2.0, float 5.0)
  %u5 = fmul float %t5, 5.5
  br label %end
c6:
  %t6 = call float @llvm.fmuladd.f32(float %x, float 2.0, float 6.0)
  %u6 = fmul float %t6, 6.5
  br label %end
c7:
  %t7 = call float @llvm.fmuladd.f32(float %x, float 2.0, float 7.0)
  %u7 = fmul float %t7, 7.5
  br label %end
c8:
  %t8 = call float @llvm.fmuladd.f32(float %x, float 2.0, float 8.0)
  %u8 = fmul float %t8, 8.5
  br label %end
other:
  %v = fdiv float %x, 3.0
  br label %end
end:
  %r = phi float [ %u0, %c0 ], [ %u1, %c1 ], [ %u2, %c2 ], [ %u3, %c3 ], [ %u4, %c4 ], [ %u5, %c5 ], [ %u6, %c6 ], [ %u7, %c7 ], [ %u8, %c8 ], [ %v, %other ], [ 0.0, %entry ]
  ret float %r
}

; Seven are not worth it.
; CHECK-LABEL: define float @few(
; CHECK-NOT: load
; CHECK: ret float
define float @few(float %x, i32 %i) {
entry:
  switch i32 %i, label %end [
    i32 0, label %c0
    i32 1, label %c1
    i32 2, label %c2
    i32 3, label %c3
    i32 4, label %c4
    i32 5, label %c5
    i32 6, label %c6
  ]
c0:
  %u0 = fmul float %x, 0.5
  br label %end
c1:
  %u1 = fmul float %x, 1.5
  br label %end
c2:
  %u2 = fmul float %x, 2.5
  br label %end
c3:
  %u3 = fmul float %x, 3.5
  br label %end
c4:
  %u4 = fmul float %x, 4.5
  br label %end
c5:
  %u5 = fmul float %x, 5.5
  br label %end
c6:
  %u6 = fmul float %x, 6.5
  br label %end
end:
  %r = phi float [ %u0, %c0 ], [ %u1, %c1 ], [ %u2, %c2 ], [ %u3, %c3 ], [ %u4, %c4 ], [ %u5, %c5 ], [ %u6, %c6 ], [ 0.0, %entry ]
  ret float %r
}
