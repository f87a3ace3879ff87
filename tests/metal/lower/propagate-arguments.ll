; PASS: propagate-arguments
; What a launch gives by value is a constant: here the bytes of buffer 0.

; CHECK: @known = private addrspace(2) constant [4 x i8] c"\07\00\00\00", align 16
; CHECK-LABEL: define void @k(
; CHECK: load i32, ptr addrspace(2) @known
define void @k(ptr addrspace(2) %count, i32 %i) {
  %n = load i32, ptr addrspace(2) %count
  %m = add i32 %n, %i
  ret void
}
