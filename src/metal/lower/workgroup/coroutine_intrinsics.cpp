#include "metal/lower/workgroup/coroutine_intrinsics.h"

#include <llvm/IR/Intrinsics.h>

namespace anymps::metal::lower::workgroup {

Coroutine::Coroutine(llvm::IRBuilder<>& b, llvm::Function& function, llvm::Value* frames)
    : suspended_(llvm::BasicBlock::Create(b.getContext(), "suspended", &function)) {
  function.setPresplitCoroutine();
  llvm::Value* null = llvm::ConstantPointerNull::get(b.getPtrTy());
  llvm::Value* id = b.CreateIntrinsic(llvm::Intrinsic::coro_id, {}, {b.getInt32(kFrameAlignment), null, null, null});
  llvm::Value* size = b.CreateIntrinsic(llvm::Intrinsic::coro_size, {b.getInt64Ty()}, {});
  size = b.CreateAnd(b.CreateAdd(size, b.getInt64(kFrameAlignment - 1)), b.getInt64(~(kFrameAlignment - 1)));
  llvm::Value* frame = b.CreateLoad(b.getPtrTy(), frames);
  b.CreateStore(b.CreateInBoundsGEP(b.getInt8Ty(), frame, size), frames);
  llvm::Value* handle = b.CreateIntrinsic(llvm::Intrinsic::coro_begin, {}, {id, frame});
  llvm::IRBuilder<> end(suspended_);
  end.CreateIntrinsic(llvm::Intrinsic::coro_end, {},
                      {handle, b.getFalse(), llvm::ConstantTokenNone::get(b.getContext())});
  end.CreateRet(handle);
}

void Coroutine::suspend(llvm::IRBuilder<>& b, llvm::BasicBlock* rest, bool last) {
  llvm::Value* state = b.CreateIntrinsic(llvm::Intrinsic::coro_suspend, {},
                                         {llvm::ConstantTokenNone::get(b.getContext()), b.getInt1(last)});
  llvm::SwitchInst* choice = b.CreateSwitch(state, suspended_, 2);
  choice->addCase(b.getInt8(0), rest);
  choice->addCase(b.getInt8(1), suspended_);
}

}  // namespace anymps::metal::lower::workgroup
