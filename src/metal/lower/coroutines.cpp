// Threads that meet are coroutines: a thread leaves what it gives in its simdgroup, says where it waits, and suspends.
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/Support/MathExtras.h>

#include <cstddef>

#include "metal/lower/bodies.h"
#include "metal/lower/dispatch.h"
#include "metal/lower/threads.h"

namespace anymps::metal::lower {
namespace {

using engine::Meeting;
using engine::MeetingPoint;
using engine::Simdgroup;

constexpr std::uint64_t kFrameAlignment = 64;

class CoroutineMaker {
 public:
  CoroutineMaker(llvm::Module& module, llvm::Function* kernel, std::vector<MeetingPoint>& points,
                 std::vector<std::string>& places)
      : module_(module), b_(module.getContext()), points_(points), places_(places) {
    llvm::SmallVector<llvm::Type*> types;
    for (llvm::Argument& argument : kernel->args()) types.push_back(argument.getType());
    const unsigned count = kernel->arg_size();
    types.append({b_.getPtrTy(), b_.getInt32Ty(), b_.getPtrTy()});  // simdgroup, index, frames
    thread_ = llvm::Function::Create(llvm::FunctionType::get(b_.getPtrTy(), types, false),
                                     llvm::Function::InternalLinkage, "thread", module);
    thread_->setPresplitCoroutine();
    thread_->setDoesNotThrow();
    thread_->splice(thread_->end(), kernel);
    for (unsigned i = 0; i < count; ++i) {
      kernel->getArg(i)->replaceAllUsesWith(thread_->getArg(i));
      for (const llvm::Attribute attribute : kernel->getAttributes().getParamAttrs(i)) {
        thread_->addParamAttr(i, attribute);
      }
    }
    simdgroup_ = thread_->getArg(count);
    index_ = thread_->getArg(count + 1);
    frames_ = thread_->getArg(count + 2);
  }

  llvm::Function* thread() { return thread_; }
  llvm::Value* index() { return index_; }
  llvm::BasicBlock* finished() { return finished_; }

  std::string make() {
    begin();
    llvm::SmallVector<llvm::CallInst*> meetings;
    llvm::SmallVector<llvm::ReturnInst*> returns;
    for (llvm::BasicBlock& block : *thread_) {
      for (llvm::Instruction& instruction : block) {
        if (auto* end = llvm::dyn_cast<llvm::ReturnInst>(&instruction)) returns.push_back(end);
        auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
        if (call != nullptr && call->getCalledFunction() != nullptr &&
            is_cooperative(call->getCalledFunction()->getName())) {
          meetings.push_back(call);
        }
      }
    }
    for (llvm::CallInst* call : meetings) {
      b_.SetInsertPoint(call);
      llvm::Value* result = nullptr;
      const std::string place = place_of(*call);
      if (!rewrite(*call, result)) return "no way to run " + call->getCalledFunction()->getName().str();
      if (result != nullptr) call->replaceAllUsesWith(result);
      call->eraseFromParent();
      places_.resize(points_.size(), place);
    }
    end(returns);
    return "";
  }

 private:
  llvm::Value* token() { return llvm::ConstantTokenNone::get(module_.getContext()); }
  llvm::Value* field(std::size_t offset) { return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), simdgroup_, offset); }

  void begin() {
    llvm::BasicBlock* first = &thread_->getEntryBlock();
    auto* start = llvm::BasicBlock::Create(module_.getContext(), "start", thread_, first);
    suspended_ = llvm::BasicBlock::Create(module_.getContext(), "suspended", thread_);
    b_.SetInsertPoint(start);
    llvm::Value* null = llvm::ConstantPointerNull::get(b_.getPtrTy());
    llvm::Value* id =
        b_.CreateIntrinsic(llvm::Intrinsic::coro_id, {}, {b_.getInt32(kFrameAlignment), null, null, null});
    llvm::Value* size = b_.CreateIntrinsic(llvm::Intrinsic::coro_size, {b_.getInt64Ty()}, {});
    size = b_.CreateAnd(b_.CreateAdd(size, b_.getInt64(kFrameAlignment - 1)), b_.getInt64(~(kFrameAlignment - 1)));
    llvm::Value* frame = b_.CreateLoad(b_.getPtrTy(), frames_);
    b_.CreateStore(b_.CreateInBoundsGEP(b_.getInt8Ty(), frame, size), frames_);
    handle_ = b_.CreateIntrinsic(llvm::Intrinsic::coro_begin, {}, {id, frame});
    llvm::Value* lane = b_.CreateAnd(index_, engine::kLanes - 1);
    waits_ = b_.CreateInBoundsGEP(b_.getInt32Ty(), simdgroup_, lane);
    given_ = field(offsetof(Simdgroup, given));
    result_ = field(offsetof(Simdgroup, result));
    lane64_ = b_.CreateZExt(lane, b_.getInt64Ty());
    b_.CreateBr(first);
    // A coroutine's variables belong in its first block, and frames are aligned to a line.
    for (auto next = first->begin(); next != first->end();) {
      auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&*next++);
      if (variable == nullptr) continue;
      variable->moveBefore(*start, start->begin());
      variable->setAlignment(std::min(variable->getAlign(), llvm::Align(kFrameAlignment)));
    }
  }

  void end(llvm::ArrayRef<llvm::ReturnInst*> returns) {
    finished_ = llvm::BasicBlock::Create(module_.getContext(), "finished", thread_);
    for (llvm::ReturnInst* old : returns) {
      b_.SetInsertPoint(old);
      b_.CreateBr(finished_);
      old->eraseFromParent();
    }
    b_.SetInsertPoint(finished_);
    b_.SetInsertPoint(b_.CreateUnreachable());
    suspend(0, /*last=*/true);
    b_.SetInsertPoint(suspended_);
    b_.CreateIntrinsic(llvm::Intrinsic::coro_end, {}, {handle_, b_.getFalse(), token()});
    b_.CreateRet(handle_);
  }

  // Leaves the builder where the thread goes on.
  void suspend(std::uint32_t waits, bool last) {
    llvm::BasicBlock* block = b_.GetInsertBlock();
    llvm::BasicBlock* rest = block->splitBasicBlock(b_.GetInsertPoint());
    block->getTerminator()->eraseFromParent();
    b_.SetInsertPoint(block);
    b_.CreateStore(b_.getInt32(waits), waits_);
    llvm::Value* state = b_.CreateIntrinsic(llvm::Intrinsic::coro_suspend, {}, {token(), b_.getInt1(last)});
    llvm::SwitchInst* choice = b_.CreateSwitch(state, suspended_, 2);
    choice->addCase(b_.getInt8(0), rest);
    choice->addCase(b_.getInt8(1), suspended_);
    b_.SetInsertPoint(rest, rest->begin());
  }

  void meet(const MeetingPoint& point) {
    points_.push_back(point);
    suspend(static_cast<std::uint32_t>(points_.size()), /*last=*/false);
  }

  void give(llvm::Value* value, std::uint64_t stride) {
    b_.CreateStore(value, b_.CreateInBoundsGEP(b_.getInt8Ty(), given_, b_.CreateMul(lane64_, b_.getInt64(stride))));
  }

  llvm::Value* take(llvm::Type* type, std::uint64_t stride, llvm::Value* lane) {
    return b_.CreateLoad(type, b_.CreateInBoundsGEP(b_.getInt8Ty(), result_, b_.CreateMul(lane, b_.getInt64(stride))));
  }

  // Every lane gives `value`; take() then finds any lane's.
  std::uint64_t exchange(llvm::Value* value) {
    const std::uint64_t bytes = llvm::PowerOf2Ceil(module_.getDataLayout().getTypeStoreSize(value->getType()));
    give(value, bytes);
    meet({.meeting = Meeting::kExchange, .bytes = static_cast<std::uint8_t>(bytes)});
    return bytes;
  }

  bool rewrite(llvm::CallInst& call, llvm::Value*& result) {
    llvm::StringRef name = call.getCalledFunction()->getName().drop_front(4);
    name.consume_back(".narrow");
    const auto [operation, type] = name.split('.');
    if (name.starts_with("wg.barrier")) {
      auto* memory = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(0));
      meet({.meeting = Meeting::kThreadgroupBarrier,
            .memory = memory == nullptr ? engine::kAllMemory : static_cast<std::uint8_t>(memory->getZExtValue())});
      return true;
    }
    if (name.starts_with("simdgroup.barrier")) {
      meet({.meeting = Meeting::kSimdgroupBarrier});
      return true;
    }
    if (operation.starts_with("simdgroup_matrix_8x8_")) {
      return matrix(operation.drop_front(sizeof("simdgroup_matrix_8x8_") - 1), call, result);
    }
    if (llvm::Value* truth = vote(operation, call)) {
      result = truth;
      return true;
    }
    if (operation.contains("_shuffle") || operation.contains("_broadcast")) {
      result = shuffle(operation, call);
      return result != nullptr;
    }
    // "u.v4i32" is four times "u.i32".
    std::string scalar = type.str();
    if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(call.getType())) {
      const std::string lanes = "v" + std::to_string(vector->getNumElements());
      if (const auto at = scalar.find(lanes); at != std::string::npos) scalar.erase(at, lanes.size());
    }
    const auto point = engine::arithmetic_meeting({operation.data(), operation.size()}, scalar);
    if (!point) return false;
    result = arithmetic(*point, call);
    return true;
  }

  llvm::Value* arithmetic(const MeetingPoint& point, llvm::CallInst& call) {
    const auto combined = [&](llvm::Value* operand) {
      give(operand, point.bytes);
      meet(point);
      return take(operand->getType(), point.bytes, lane64_);
    };
    llvm::Value* operand = call.getArgOperand(0);
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(operand->getType());
    if (vector == nullptr) return combined(operand);
    llvm::Value* result = llvm::PoisonValue::get(operand->getType());
    for (unsigned i = 0; i < vector->getNumElements(); ++i) {
      result = b_.CreateInsertElement(result, combined(b_.CreateExtractElement(operand, i)), i);
    }
    return result;
  }

  // What the lanes of this simdgroup, or of this quad, say. Both masks begin with the lowest lane.
  struct Poll {
    llvm::Value* yes;
    llvm::Value* active;
  };
  Poll poll(llvm::Value* truth, bool quad) {
    give(b_.CreateZExt(truth, b_.getInt32Ty()), 4);
    meet({.meeting = Meeting::kVote, .bytes = 4});
    const auto lanes = [&](std::size_t offset) -> llvm::Value* {
      llvm::Value* mask =
          b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), result_, offset));
      return quad ? b_.CreateAnd(b_.CreateLShr(mask, b_.CreateAnd(lane64_, b_.getInt64(~3ULL))), 15) : mask;
    };
    return {lanes(offsetof(engine::Votes, yes)), lanes(offsetof(engine::Votes, active))};
  }

  llvm::Value* first_of(llvm::Value* active) {
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, active, b_.getTrue());
  }

  // any, all, ballot and what is known of the active lanes; nothing for other operations.
  llvm::Value* vote(llvm::StringRef operation, llvm::CallInst& call) {
    const bool quad = operation.consume_front("quad_");
    if (!quad && !operation.consume_front("simd_")) return nullptr;
    llvm::Value* truth = call.arg_empty() ? b_.getTrue() : call.getArgOperand(0);
    if (operation == "is_helper_thread") return b_.getFalse();  // only fragment shaders have them
    if (operation == "any") return b_.CreateIsNotNull(poll(truth, quad).yes);
    if (operation == "all") {
      const Poll votes = poll(truth, quad);
      return b_.CreateICmpEQ(votes.yes, votes.active);
    }
    if (operation == "ballot") return b_.CreateZExtOrTrunc(poll(truth, quad).yes, call.getType());
    if (operation == "active_threads_mask") return b_.CreateZExtOrTrunc(poll(truth, quad).active, call.getType());
    if (operation == "is_first") {
      llvm::Value* first = first_of(poll(truth, quad).active);
      return b_.CreateICmpEQ(first, quad ? b_.CreateAnd(lane64_, 3) : lane64_);
    }
    return nullptr;
  }

  // The lane whose value this one gets. Out of the simdgroup, a lane keeps its own.
  llvm::Value* shuffle(llvm::StringRef operation, llvm::CallInst& call) {
    const bool quad = operation.consume_front("quad_");
    if (!quad) operation.consume_front("simd_");
    const std::uint64_t width = quad ? 4 : engine::kLanes;
    llvm::Value* first = operation == "broadcast_first" ? first_of(poll(b_.getTrue(), quad).active) : nullptr;
    const std::uint64_t bytes = exchange(call.getArgOperand(0));
    llvm::Value* base = b_.CreateAnd(lane64_, b_.getInt64(~(width - 1)));
    llvm::Value* within = b_.CreateAnd(lane64_, b_.getInt64(width - 1));
    auto wide = [&](unsigned i) { return b_.CreateZExtOrTrunc(call.getArgOperand(i), b_.getInt64Ty()); };
    auto taken = [&](llvm::Value* lane) {
      return take(call.getType(), bytes, b_.CreateAdd(base, b_.CreateAnd(lane, b_.getInt64(width - 1))));
    };
    if (operation.contains("and_fill")) {
      // Operands: value, filling value, distance, modulo. What moves in is the filling value of the other end.
      llvm::Value* distance = wide(2);
      llvm::Value* modulo = wide(3);
      llvm::Value* last = b_.CreateSub(modulo, b_.getInt64(1));
      llvm::Value* offset = b_.CreateAnd(within, last);
      const bool up = operation.contains("up");
      llvm::Value* moved = up ? b_.CreateSub(offset, distance) : b_.CreateAdd(offset, distance);
      llvm::Value* lane = b_.CreateAdd(b_.CreateSub(within, offset), b_.CreateAnd(moved, last));
      llvm::Value* value = taken(lane);
      llvm::Value* filling = call.getArgOperand(1);
      if (!llvm::isa<llvm::Constant>(filling)) {
        exchange(filling);
        filling = taken(lane);
      }
      return b_.CreateSelect(b_.CreateICmpULT(moved, modulo), value, filling);
    }
    if (first != nullptr) return taken(first);
    llvm::Value* operand = wide(1);
    if (operation == "shuffle" || operation == "broadcast") return taken(operand);
    if (operation == "shuffle_xor") return taken(b_.CreateXor(within, operand));
    if (operation == "shuffle_rotate_down") return taken(b_.CreateAdd(within, operand));
    if (operation == "shuffle_rotate_up") return taken(b_.CreateSub(within, operand));
    if (operation == "shuffle_down") {
      llvm::Value* lane = b_.CreateAdd(within, operand);
      return taken(b_.CreateSelect(b_.CreateICmpULT(lane, b_.getInt64(width)), lane, within));
    }
    if (operation == "shuffle_up") {
      return taken(b_.CreateSelect(b_.CreateICmpUGE(within, operand), b_.CreateSub(within, operand), within));
    }
    return nullptr;
  }

  // Of the two elements that this lane owns.
  llvm::Value* row() {
    return b_.CreateOr(b_.CreateAnd(b_.CreateLShr(lane64_, 2), 4), b_.CreateAnd(b_.CreateLShr(lane64_, 1), 3));
  }
  llvm::Value* column() {
    return b_.CreateOr(b_.CreateShl(b_.CreateAnd(b_.CreateLShr(lane64_, 2), 2), 1),
                       b_.CreateShl(b_.CreateAnd(lane64_, 1), 1));
  }

  bool matrix(llvm::StringRef operation, llvm::CallInst& call, llvm::Value*& result) {
    if (operation.starts_with("init")) {
      llvm::Value* value = call.getArgOperand(0);
      result = b_.CreateVectorSplat(2, value);
      if (!operation.contains("diag")) return true;
      for (unsigned i = 0; i < 2; ++i) {
        llvm::Value* on = b_.CreateICmpEQ(row(), b_.CreateAdd(column(), b_.getInt64(i)));
        result = b_.CreateInsertElement(result,
                                        b_.CreateSelect(on, value, llvm::Constant::getNullValue(value->getType())), i);
      }
      return true;
    }
    if (operation == "load" || operation == "store") {
      result = transfer(operation == "store", call);
      if (operation == "store") meet({.meeting = Meeting::kSimdgroupBarrier});
      return true;
    }
    if (operation != "multiply_accumulate") return false;
    llvm::Type* pair = llvm::FixedVectorType::get(b_.getFloatTy(), 2);
    auto as_float = [&](llvm::Value* value) { return value->getType() == pair ? value : b_.CreateFPExt(value, pair); };
    give(b_.CreateShuffleVector(as_float(call.getArgOperand(0)), as_float(call.getArgOperand(1)), {0, 1, 2, 3}), 16);
    meet({.meeting = Meeting::kMatrixProduct, .bytes = 16});
    llvm::Value* sum = b_.CreateFAdd(take(pair, 8, lane64_), as_float(call.getArgOperand(2)));
    result = sum->getType() == call.getType() ? sum : b_.CreateFPTrunc(sum, call.getType());
    return true;
  }

  llvm::Value* transfer(bool store, llvm::CallInst& call) {
    const unsigned pointer = store ? 1 : 0;
    llvm::Value* step_x = nullptr;
    llvm::Value* step_y = nullptr;
    llvm::Value* origin = nullptr;
    if (call.getArgOperand(pointer + 1)->getType()->isVectorTy()) {
      llvm::Value* strides = call.getArgOperand(pointer + 2);
      step_x = b_.CreateExtractElement(strides, std::uint64_t{0});
      step_y = b_.CreateExtractElement(strides, std::uint64_t{1});
      origin = call.getArgOperand(pointer + 3);
    } else {
      // The older form: elements per row, origin, whether to transpose. PyTorch's kernels are there in both forms, and
      // where this one says no, the newer has strides of one along a row.
      llvm::Value* transpose = call.getArgOperand(pointer + 3);
      step_x = b_.CreateSelect(transpose, call.getArgOperand(pointer + 1), b_.getInt64(1));
      step_y = b_.CreateSelect(transpose, b_.getInt64(1), call.getArgOperand(pointer + 1));
      origin = call.getArgOperand(pointer + 2);
    }
    llvm::Value* x = b_.CreateAdd(column(), b_.CreateExtractElement(origin, std::uint64_t{0}));
    llvm::Value* y = b_.CreateAdd(row(), b_.CreateExtractElement(origin, std::uint64_t{1}));
    llvm::Value* place = b_.CreateAdd(b_.CreateMul(x, step_x), b_.CreateMul(y, step_y));
    llvm::Type* type = store ? call.getArgOperand(0)->getType() : call.getType();
    llvm::Value* result = store ? nullptr : llvm::PoisonValue::get(type);
    for (unsigned i = 0; i < 2; ++i) {
      llvm::Value* element = b_.CreateGEP(type->getScalarType(), call.getArgOperand(pointer),
                                          b_.CreateAdd(place, b_.CreateMul(step_x, b_.getInt64(i))));
      if (store) {
        b_.CreateStore(b_.CreateExtractElement(call.getArgOperand(0), i), element);
      } else {
        result = b_.CreateInsertElement(result, b_.CreateLoad(type->getScalarType(), element), i);
      }
    }
    return result;
  }

  llvm::Module& module_;
  llvm::IRBuilder<> b_;
  std::vector<MeetingPoint>& points_;
  std::vector<std::string>& places_;
  llvm::Function* thread_;
  llvm::Value* simdgroup_;
  llvm::Value* index_;
  llvm::Value* frames_;
  llvm::BasicBlock* finished_ = nullptr;
  llvm::BasicBlock* suspended_ = nullptr;
  llvm::Value* handle_ = nullptr;
  llvm::Value* waits_ = nullptr;
  llvm::Value* given_ = nullptr;
  llvm::Value* result_ = nullptr;
  llvm::Value* lane64_ = nullptr;
};

}  // namespace

std::string place_of(const llvm::Instruction& instruction) {
  const llvm::DILocation* location = instruction.getDebugLoc();
  if (location == nullptr || location->getLine() == 0) return "";
  return location->getFilename().str() + ":" + std::to_string(location->getLine());
}

std::string make_coroutines(llvm::Module& module, llvm::Function* kernel, std::span<const Parameter> parameters,
                            std::vector<MeetingPoint>& points, ThreadCode& thread) {
  order_meetings(*kernel);
  CoroutineMaker maker(module, kernel, points, thread.places);
  if (std::string wrong = maker.make(); !wrong.empty()) return wrong;
  constexpr unsigned kThreads = 5;
  constexpr unsigned kSimdgroups = 6;
  constexpr unsigned kFrames = 7;
  constexpr unsigned kMemory = 8;
  llvm::Type* pointer = llvm::PointerType::get(module.getContext(), 0);
  ThreadsBuilder threads(module, parameters, {pointer, pointer, pointer, pointer}, kMemory);
  llvm::IRBuilder<>& b = threads.b();
  llvm::Function* run = threads.run();
  threads.loops(
      [&](const Three& position) {
        llvm::SmallVector<llvm::Value*> values = threads.arguments(kernel, position);
        llvm::Value* index = threads.index();
        llvm::Value* simdgroup = b.CreateZExt(b.CreateUDiv(index, b.getInt32(engine::kLanes)), b.getInt64Ty());
        values.push_back(b.CreateInBoundsGEP(b.getInt8Ty(), run->getArg(kSimdgroups),
                                             b.CreateMul(simdgroup, b.getInt64(sizeof(Simdgroup)))));
        values.push_back(index);
        values.push_back(run->getArg(kFrames));
        llvm::Value* handle = b.CreateCall(maker.thread(), values);
        b.CreateStore(handle,
                      b.CreateInBoundsGEP(b.getPtrTy(), run->getArg(kThreads), b.CreateZExt(index, b.getInt64Ty())));
      },
      nullptr);
  kernel->eraseFromParent();
  thread.function = maker.thread();
  thread.index = maker.index();
  thread.finished = maker.finished();
  return "";
}

}  // namespace anymps::metal::lower
