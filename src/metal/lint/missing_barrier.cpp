#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/GetElementPtrTypeIterator.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

#include "metal/lint/lint.h"
#include "metal/lint/thread_values.h"
#include "metal/lower/builtins/builtin_lowering.h"
#include "metal/lower/transform/threadgroup_variables.h"
#include "metal/lower/workgroup/coroutines.h"

namespace anymps::metal::lint {
namespace {

// One of the kernel's loads or stores of threadgroup memory.
struct Access {
  const llvm::Instruction* instruction = nullptr;
  const llvm::Value* object = nullptr;  // the variable, or the argument
  Form form;                            // where in it, in bytes
  std::int64_t reach = 0;               // from the first thread's place to the last one's, at most
  std::int64_t bytes = 0;
};

bool is_barrier(const llvm::Instruction& instruction) {
  const llvm::CallInst* call = lower::builtins::cooperative_call(instruction);
  if (call == nullptr) return false;
  // What simdgroups do together orders them, and who reads what behind it is not looked into.
  if (!lower::builtins::is_threadgroup_barrier(call->getCalledFunction()->getName())) return true;
  // With mem_none it orders nothing.
  const auto* flags = llvm::dyn_cast<llvm::ConstantInt>(call->getArgOperand(0));
  return flags == nullptr || !flags->isZero();
}

class Finder {
 public:
  Finder(const Kernel& kernel, std::vector<Finding>& findings)
      : kernel_(kernel), findings_(findings), values_(kernel), loops_(values_.dominators()) {}

  void run() {
    collect();
    for (const Access& store : stores_) {
      for (const Access* load : loads_after(store)) consider(store, *load);
    }
  }

 private:
  void collect() {
    for (const llvm::BasicBlock& block : kernel_.function) {
      for (const llvm::Instruction& instruction : block) {
        if (is_barrier(instruction)) with_barrier_.insert(&block);
        if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction); load != nullptr && !load->isAtomic()) {
          add(loads_, *load, load->getPointerOperand(), load->getType());
        } else if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
                   store != nullptr && !store->isAtomic()) {
          add(stores_, *store, store->getPointerOperand(), store->getValueOperand()->getType());
        }
      }
    }
  }

  void add(std::vector<Access>& accesses, const llvm::Instruction& instruction, const llvm::Value* address,
           llvm::Type* type) {
    Access access{.instruction = &instruction, .object = nullptr, .form = {}};
    access.bytes = static_cast<std::int64_t>(layout().getTypeStoreSize(type).getFixedValue());
    if (follow(address, access)) accesses.push_back(std::move(access));
  }

  const llvm::DataLayout& layout() const { return kernel_.function.getParent()->getDataLayout(); }

  // To the variable or the argument; false where the way is not straight.
  bool follow(const llvm::Value* address, Access& access) {
    while (const auto* element = llvm::dyn_cast<llvm::GEPOperator>(address)) {
      add_offset(*element, access);
      address = element->getPointerOperand();
    }
    const bool known = llvm::isa<llvm::GlobalVariable, llvm::Argument>(address);
    if (!known || address->getType()->getPointerAddressSpace() != air::kThreadgroupSpace) return false;
    access.object = address;
    return true;
  }

  void add_offset(const llvm::GEPOperator& element, Access& access) {
    const llvm::Type* within = nullptr;
    for (auto at = llvm::gep_type_begin(element); at != llvm::gep_type_end(element); ++at) {
      const llvm::Value* index = at.getOperand();
      const auto* array = llvm::dyn_cast_or_null<llvm::ArrayType>(std::exchange(within, at.getIndexedType()));
      if (llvm::StructType* record = at.getStructTypeOrNull()) {
        const auto member = static_cast<unsigned>(llvm::cast<llvm::ConstantInt>(index)->getZExtValue());
        access.form.constant += static_cast<std::int64_t>(layout().getStructLayout(record)->getElementOffset(member));
        continue;
      }
      const Form form = values_.form_of(index);
      const auto stride = static_cast<std::int64_t>(at.getSequentialElementStride(layout()).getFixedValue());
      access.form.add(form, stride);
      std::int64_t reach = 0;
      for (const auto& [symbol, coefficient] : form.terms) {
        if (is_thread_number(symbol)) reach += std::abs(coefficient) * values_.most(symbol);
      }
      // An index does not reach over the end of an array within an array.
      if (array != nullptr) reach = std::min(reach, static_cast<std::int64_t>(array->getNumElements()) - 1);
      access.reach += reach * stride;
    }
  }

  // Those that a thread may come to with no barrier between. Where a condition leads past a barrier, the way through
  // the barrier is taken for the only one: all threads skip it together, for reasons of their own.
  std::vector<const Access*> loads_after(const Access& store) {
    llvm::SmallPtrSet<const llvm::BasicBlock*, 32> seen;
    std::vector<const llvm::BasicBlock*> work;
    std::vector<const Access*> found;
    const auto go_through = [&](const llvm::BasicBlock& block, const llvm::Instruction* from) {
      for (; from != nullptr; from = from->getNextNode()) {
        if (is_barrier(*from)) return;
        const auto load = std::ranges::find(loads_, from, &Access::instruction);
        if (load != loads_.end() && load->object == store.object) found.push_back(&*load);
      }
      for (const llvm::BasicBlock* next : llvm::successors(&block)) {
        if (!skips_a_barrier(&block, next) && seen.insert(next).second) work.push_back(next);
      }
    };
    go_through(*store.instruction->getParent(), store.instruction->getNextNode());
    while (!work.empty()) {
      const llvm::BasicBlock* block = work.back();
      work.pop_back();
      go_through(*block, &block->front());
    }
    return found;
  }

  bool skips_a_barrier(const llvm::BasicBlock* from, const llvm::BasicBlock* to) const {
    if (const llvm::Loop* loop = loops_.getLoopFor(from); loop != nullptr && !loop->contains(to)) return false;
    for (const llvm::BasicBlock* other : llvm::successors(from)) {
      if (other == to) continue;
      llvm::SmallPtrSet<const llvm::BasicBlock*, 32> seen = {from, to, other};
      std::vector<const llvm::BasicBlock*> work = {other};
      bool meets = false;
      bool returns = false;
      while (!work.empty()) {
        const llvm::BasicBlock* block = work.back();
        work.pop_back();
        meets = meets || with_barrier_.contains(block);
        for (const llvm::BasicBlock* next : llvm::successors(block)) {
          returns = returns || next == to;
          if (seen.insert(next).second) work.push_back(next);
        }
      }
      if (meets && returns) return true;
    }
    return false;
  }

  void consider(const Access& store, const Access& load) {
    if (!reads_of_another(store, load) || is_own(load)) return;
    const std::string name = name_of(*store.object);
    const std::string place = lower::workgroup::place_of(*load.instruction);
    if (!told_.insert({store.object, place}).second) return;
    const std::string written = lower::workgroup::place_of(*store.instruction);
    findings_.push_back({kMissingBarrier, Severity::kError, name, place,
                         name + " in threadgroup memory is read where another thread writes" +
                             (written.empty() ? "" : " (at " + written + ")") +
                             ", with no barrier for threadgroup memory between"});
  }

  // Whether the thread has stored there itself on every way to the load.
  bool is_own(const Access& load) {
    return std::ranges::any_of(stores_, [&](const Access& store) {
      return store.object == load.object && store.form == load.form &&
             values_.dominators().dominates(store.instruction, load.instruction);
    });
  }

  bool reads_of_another(const Access& store, const Access& load) {
    if (values_.has_unknown_of_thread(store.form) || values_.has_unknown_of_thread(load.form)) return false;
    const std::vector<Guard> guards = values_.guards_of(load.instruction->getParent());
    const Equalities equalities = values_.equalities_of(guards);
    Form distance = substituted(load.form, equalities);
    distance.add(substituted(store.form, equalities), -1);
    std::int64_t finest = 0;  // how far apart neighbouring threads store
    bool others = false;      // the place depends on more than the thread and the launch
    for (const auto& [symbol, coefficient] : store.form.terms) {
      if (!is_thread_number(symbol)) {
        others = others || llvm::isa<llvm::Instruction>(symbol.value);
      } else if (finest == 0 || std::abs(coefficient) < finest) {
        finest = std::abs(coefficient);
      }
    }
    if (finest == 0) return distance == Form() && some_store_for_all(store, guards, equalities);
    if (distance == Form()) return false;
    if (distance.is_constant()) {
      return distance.constant % finest == 0 && std::abs(distance.constant) <= store.reach;
    }
    const std::int64_t beyond = load.form.constant - store.form.constant;
    return !others && finest == store.bytes && beyond >= 0 && beyond <= store.reach;
  }

  // Whether it is done by threads that a condition chose, and the load by others as well.
  bool some_store_for_all(const Access& store, const std::vector<Guard>& guards, const Equalities& equalities) {
    for (const Guard& guard : values_.guards_of(store.instruction->getParent())) {
      if (!guard.differs || std::ranges::find(guards, guard) != guards.end()) continue;
      const Equalities chosen = values_.equalities_of({guard});
      const bool same = !chosen.empty() && std::ranges::all_of(chosen, [&](const auto& one) {
        const auto known = equalities.find(one.first);
        return known != equalities.end() && known->second == one.second;
      });
      if (!same) return true;
    }
    return false;
  }

  std::string name_of(const llvm::Value& object) const {
    if (const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(&object))
      return lower::transform::plain_name(*variable);
    return kernel_.signature.arguments[llvm::cast<llvm::Argument>(object).getArgNo()].name;
  }

  const Kernel& kernel_;
  std::vector<Finding>& findings_;
  ThreadValues values_;
  llvm::LoopInfo loops_;
  std::vector<Access> stores_;
  std::vector<Access> loads_;
  llvm::SmallPtrSet<const llvm::BasicBlock*, 16> with_barrier_;
  std::set<std::pair<const llvm::Value*, std::string>> told_;
};

}  // namespace

void find_missing_barriers(const Kernel& kernel, std::vector<Finding>& findings) { Finder(kernel, findings).run(); }

}  // namespace anymps::metal::lint
