; PASS: integers

; CHECK-LABEL: define i32 @air.max.s.i32(
; CHECK: call i32 @llvm.smax.i32
declare i32 @air.max.s.i32(i32, i32)
; CHECK-LABEL: define i32 @air.max.u.i32(
; CHECK: call i32 @llvm.umax.i32
declare i32 @air.max.u.i32(i32, i32)
; CHECK-LABEL: define i8 @air.abs.s.i8(
; CHECK: call i8 @llvm.abs.i8
declare i8 @air.abs.s.i8(i8)
; CHECK-LABEL: define i8 @air.abs.u.i8(i8 %0)
; CHECK-NEXT: ret i8 %0
declare i8 @air.abs.u.i8(i8)
; CHECK-LABEL: define i32 @air.mul_hi.s.i32(
; CHECK: sext i32 %{{.*}} to i64
; CHECK: mul i64
; CHECK: lshr i64 %{{.*}}, 32
declare i32 @air.mul_hi.s.i32(i32, i32)
; CHECK-LABEL: define i8 @air.rhadd.u.i8(
; CHECK: zext i8 %{{.*}} to i16
; CHECK: add i16 %{{.*}}, 1
; CHECK: ashr i16 %{{.*}}, 1
declare i8 @air.rhadd.u.i8(i8, i8)
; CHECK-LABEL: define i32 @air.clz.i32(
; CHECK: call i32 @llvm.ctlz.i32(i32 %{{.*}}, i1 false)
declare i32 @air.clz.i32(i32, i1)
; CHECK-LABEL: define i1 @air.is_uniform.i32(
; CHECK: ret i1 true
declare i1 @air.is_uniform.i32(i32)

define i32 @use(i32 %x, i8 %y) {
  %a = call i32 @air.max.s.i32(i32 %x, i32 %x)
  %b = call i32 @air.max.u.i32(i32 %a, i32 %x)
  %c = call i32 @air.mul_hi.s.i32(i32 %b, i32 %x)
  %s = call i8 @air.abs.s.i8(i8 %y)
  %u = call i8 @air.abs.u.i8(i8 %s)
  %d = call i8 @air.rhadd.u.i8(i8 %u, i8 %y)
  %e = call i32 @air.clz.i32(i32 %c, i1 true)
  %f = call i1 @air.is_uniform.i32(i32 %e)
  %g = zext i8 %d to i32
  ret i32 %g
}
