; PASS: narrow-matrices
; Of the 64 elements of a matrix a lane owns two.

declare <64 x float> @air.simdgroup_matrix_8x8_init_filled.v64f32.f32(float)
declare <64 x float> @air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64f32.v64f32.v64f32(<64 x float>, <64 x float>, <64 x float>)

; CHECK-LABEL: define void @k(
define void @k(ptr addrspace(1) %out, i32 %index) {
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
  ; A thread's loop over the two that it owns.
  ; CHECK: [[IS_0:%.*]] = icmp eq i32 %index, 0
  ; CHECK: select i1 [[IS_0]], float 3.0
  ; CHECK: [[IS_1:%.*]] = icmp eq i32 %index, 1
  ; CHECK: select i1 [[IS_1]], float 3.0
  %with = insertelement <64 x float> %next, float 3.0, i32 %index
  ; CHECK: [[BITS:%.*]] = bitcast <2 x float> {{.*}} to <2 x i32>
  %bits = bitcast <64 x float> %with to <64 x i32>
  ; CHECK: [[FIRST:%.*]] = extractelement <2 x i32> [[BITS]], {{i32|i64}} 0
  ; CHECK: [[SECOND:%.*]] = extractelement <2 x i32> [[BITS]], {{i32|i64}} 1
  ; CHECK: select i1 {{.*}}, i32 [[FIRST]], i32 [[SECOND]]
  %y = extractelement <64 x i32> %bits, i32 %index
  store i32 %y, ptr addrspace(1) %out
  ret void
}
; CHECK-NOT: <64 x
