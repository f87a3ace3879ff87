; PASS: narrow-matrices
; Of the 64 elements of a matrix a lane owns two.

declare <64 x float> @air.simdgroup_matrix_8x8_init_filled.v64f32.f32(float)
declare <64 x float> @air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64f32.v64f32.v64f32(<64 x float>, <64 x float>, <64 x float>)

; CHECK-LABEL: define void @k(
define void @k(ptr addrspace(1) %out) {
entry:
  ; CHECK: [[FILLED:%.*]] = call <2 x float> @air.simdgroup_matrix_8x8_init_filled
  %m = call <64 x float> @air.simdgroup_matrix_8x8_init_filled.v64f32.f32(float 2.0)
  br label %loop
loop:
  ; CHECK: [[SUM:%.*]] = phi <2 x float> [ [[FILLED]], %entry ], [ [[NEXT:%.*]], %loop ]
  %sum = phi <64 x float> [ %m, %entry ], [ %next, %loop ]
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  ; CHECK: [[NEXT]] = call <2 x float> @air.simdgroup_matrix_8x8_multiply_accumulate{{.*}}(<2 x float> [[FILLED]], <2 x float> [[FILLED]], <2 x float> [[SUM]])
  %next = call <64 x float> @air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64f32.v64f32.v64f32(<64 x float> %m, <64 x float> %m, <64 x float> %sum)
  %j = add i32 %i, 1
  %again = icmp ult i32 %j, 4
  br i1 %again, label %loop, label %end
end:
  ; CHECK: extractelement <2 x float> [[NEXT]], {{i32|i64}} 1
  %x = extractelement <64 x float> %next, i64 1
  store float %x, ptr addrspace(1) %out
  ret void
}
; CHECK-NOT: call <64 x float>
