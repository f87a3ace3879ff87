; PASS: tensors
; A tensor of two dimensions takes 48 bytes; a thread's part of 64 by 64 floats for four simdgroups 16 and 32 of 4.

; CHECK-LABEL: define void @k(
; CHECK: alloca i8, i64 48, align 8
; CHECK: alloca i8, i64 144, align 8
define void @k(ptr addrspace(1) %a, i32 %i) {
  %bytes = call i64 @tensor.MTL_SIZEAS()
  %tensor = alloca i8, i64 %bytes, align 8
  %more = call i64 @part.MTL_SIZEAS()
  %part = alloca i8, i64 %more, align 8
  %numbers = alloca [2 x i32], align 4
  call void @air.init_strided_private_tensor.i32.global(ptr %tensor, i16 2, ptr addrspace(1) %a, ptr %numbers, ptr %numbers, i8 1)
  call void @__tensorops_impl_matmul2d_op_run_cooperative_dv_f16_dv_f16_f32(ptr %numbers, ptr %tensor, i32 2, ptr %tensor, i32 2, ptr %part, i32 128)
  ret void
}
define internal i64 @tensor.MTL_SIZEAS() {
  %bytes = call i16 @air.get_descriptor_size_tensor(i16 2, i16 4)
  %wide = zext i16 %bytes to i64
  ret i64 %wide
}
define internal i64 @part.MTL_SIZEAS() {
  %bytes = call i64 @__tensorops_impl_matmul2d_op_cooperative_tensor_data_size(i32 2, i32 64, i32 64, i32 -1, i8 0, i8 0, i8 0, i32 0, i32 268435472, i32 268435472, i32 268435488, i32 128)
  ret i64 %bytes
}
declare i16 @air.get_descriptor_size_tensor(i16, i16)
declare i64 @__tensorops_impl_matmul2d_op_cooperative_tensor_data_size(i32, i32, i32, i32, i8, i8, i8, i32, i32, i32, i32, i32)

; The address, the bytes of an element, extents and strides.
; CHECK-LABEL: define void @air.init_strided_private_tensor.i32.global(
; CHECK: addrspacecast ptr addrspace(1)
; CHECK: sext i32
declare void @air.init_strided_private_tensor.i32.global(ptr, i16, ptr addrspace(1), ptr, ptr, i8)

; Threads do it together.
; CHECK-LABEL: define void @__tensorops_impl_matmul2d_op_run_cooperative_dv_f16_dv_f16_f32(
; CHECK: [[CALL:%.*]] = alloca
; CHECK: call void @anymps.tensor_operation(ptr [[CALL]])
declare void @__tensorops_impl_matmul2d_op_run_cooperative_dv_f16_dv_f16_f32(ptr, ptr, i32, ptr, i32, ptr, i32) section "air.externally_defined"

; CHECK: !""
