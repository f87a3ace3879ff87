; A kernel as Apple's compiler writes it: `out[index] = factor`.
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v64:64:64-v128:128:128-n8:16:32"
target triple = "air64_v26-apple-macosx14.0.0"
@tile = internal addrspace(3) global [64 x float] undef, align 4
@_Z5twice.MTL_FC_INIT_3_b = internal addrspace(2) externally_initialized constant i8 undef, align 1
define void @scale(ptr addrspace(1) %out, ptr addrspace(2) %factor, i32 %index) {
  %place = zext i32 %index to i64
  %value = load float, ptr addrspace(2) %factor, align 4
  %address = getelementptr inbounds float, ptr addrspace(1) %out, i64 %place
  store float %value, ptr addrspace(1) %address, align 4
  ret void
}
!air.kernel = !{!0}
!air.function_constants = !{!6}
!air.compile_options = !{!5}
!0 = !{ptr @scale, !1, !{!2, !3, !4}, !{!"air.max_work_group_size", i32 256}}
!1 = !{}
!2 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 1,
       !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"out"}
!3 = !{i32 1, !"air.buffer", !"air.buffer_size", i32 4, !"air.location_index", i32 1, i32 1, !"air.read", !"air.address_space", i32 2,
       !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"factor"}
!4 = !{i32 2, !"air.thread_position_in_grid", !"air.arg_type_name", !"uint", !"air.arg_name", !"index"}
!5 = !{!"air.compile.denorms_disable"}
!6 = !{ptr addrspace(2) @_Z5twice.MTL_FC_INIT_3_b, !"bool", !"twice", i32 3, i1 true}
