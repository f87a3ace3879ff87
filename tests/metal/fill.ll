; A kernel as Apple's compiler writes it: `if (index < count) out[index] = 1`.
target triple = "air64_v26-apple-macosx14.0.0"
define void @fill(ptr addrspace(1) %out, ptr addrspace(2) %count, i32 %index) {
  %n = load i32, ptr addrspace(2) %count, align 4
  %inside = icmp ult i32 %index, %n
  br i1 %inside, label %write, label %end
write:
  %place = zext i32 %index to i64
  %to = getelementptr inbounds float, ptr addrspace(1) %out, i64 %place
  store float 1.0, ptr addrspace(1) %to, align 4
  br label %end
end:
  ret void
}
!air.kernel = !{!0}
!0 = !{ptr @fill, !1, !{!2, !3, !4}}
!1 = !{}
!2 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 1,
       !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"out"}
!3 = !{i32 1, !"air.buffer", !"air.buffer_size", i32 4, !"air.location_index", i32 1, i32 1, !"air.read", !"air.address_space", i32 2,
       !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"uint", !"air.arg_name", !"count"}
!4 = !{i32 2, !"air.thread_position_in_grid", !"air.arg_type_name", !"uint", !"air.arg_name", !"index"}
