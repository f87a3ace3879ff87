; PASS: threadgroup-variables
; Variables become places in the threadgroup's memory, which is the kernel's last parameter.

; CHECK-NOT: @small
@small = internal addrspace(3) global i8 undef, align 1
; CHECK-NOT: @zeroed
@zeroed = internal addrspace(3) global [4 x float] zeroinitializer, align 4
@wide = internal addrspace(3) global [3 x <4 x float>] undef, align 64

; CHECK: define void @k(ptr addrspace(1) %{{.*}}, ptr addrspace(3) [[MEMORY:%.*]])
; CHECK-DAG: getelementptr inbounds i8, ptr addrspace(3) [[MEMORY]], i64 16
; CHECK-DAG: getelementptr inbounds i8, ptr addrspace(3) [[MEMORY]], i64 64
define void @k(ptr addrspace(1) %out) {
  store i8 1, ptr addrspace(3) @small
  %z = load float, ptr addrspace(3) getelementptr ([4 x float], ptr addrspace(3) @zeroed, i64 0, i64 2)
  %w = load <4 x float>, ptr addrspace(3) getelementptr ([3 x <4 x float>], ptr addrspace(3) @wide, i64 0, i64 1)
  store float %z, ptr addrspace(1) %out
  store <4 x float> %w, ptr addrspace(1) %out
  ret void
}
; 48 bytes from 64 on.
; CHECK: !"bytes 128"
; CHECK: !"cleared 16 16"
