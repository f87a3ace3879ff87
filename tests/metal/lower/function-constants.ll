; PASS: function-constants
; Constant 3 is given as 7; constant 4 is not given.

; CHECK: @size.MTL_FC_INIT_3_j = internal addrspace(2) constant i32 7
; CHECK: @scale.MTL_FC_INIT_4_f = internal addrspace(2) constant float 0.000000e+00
@size.MTL_FC_INIT_3_j = internal addrspace(2) externally_initialized constant i32 undef, section "x", align 4
@scale.MTL_FC_INIT_4_f = internal addrspace(2) externally_initialized constant float undef, align 4
; CHECK: @other = internal addrspace(2) constant i32 5
@other = internal addrspace(2) constant i32 5
; CHECK-NOT: llvm.compiler.used
@llvm.compiler.used = appending global [1 x ptr addrspace(2)] [ptr addrspace(2) @size.MTL_FC_INIT_3_j], section "llvm.metadata"

define i32 @k() {
  %a = load i32, ptr addrspace(2) @size.MTL_FC_INIT_3_j
  %b = load i32, ptr addrspace(2) @other
  %c = add i32 %a, %b
  ret i32 %c
}
