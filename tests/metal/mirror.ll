; A kernel as Apple's compiler writes it: each thread leaves its number in threadgroup memory, which the launch gives, and
; takes that of the thread opposite: `out[i] = shared[last - i]`, for i up to last.
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v64:64:64-v128:128:128-n8:16:32"
target triple = "air64_v26-apple-macosx14.0.0"
declare void @air.wg.barrier(i32, i32) #0
define void @mirror(ptr addrspace(1) %out, ptr addrspace(2) %last, ptr addrspace(3) %shared, i32 %index) {
  %most = load i32, ptr addrspace(2) %last, align 4
  %inside = icmp ule i32 %index, %most
  %place = zext i32 %index to i64
  br i1 %inside, label %write, label %meet
write:
  %own = getelementptr inbounds i32, ptr addrspace(3) %shared, i64 %place
  store i32 %index, ptr addrspace(3) %own, align 4
  br label %meet
meet:
  call void @air.wg.barrier(i32 2, i32 1)
  br i1 %inside, label %read, label %end
read:
  %opposite = sub i32 %most, %index
  %other_place = zext i32 %opposite to i64
  %other = getelementptr inbounds i32, ptr addrspace(3) %shared, i64 %other_place
  %value = load i32, ptr addrspace(3) %other, align 4
  %to = getelementptr inbounds i32, ptr addrspace(1) %out, i64 %place
  store i32 %value, ptr addrspace(1) %to, align 4
  br label %end
end:
  ret void
}
attributes #0 = { convergent }
!air.kernel = !{!0}
!0 = !{ptr @mirror, !1, !{!2, !3, !4, !5}}
!1 = !{}
!2 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 1,
       !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"uint", !"air.arg_name", !"out"}
!3 = !{i32 1, !"air.buffer", !"air.buffer_size", i32 4, !"air.location_index", i32 1, i32 1, !"air.read", !"air.address_space", i32 2,
       !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"uint", !"air.arg_name", !"last"}
!4 = !{i32 2, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 3,
       !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"uint", !"air.arg_name", !"shared"}
!5 = !{i32 3, !"air.thread_position_in_grid", !"air.arg_type_name", !"uint", !"air.arg_name", !"index"}
