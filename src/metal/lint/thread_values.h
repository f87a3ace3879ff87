// What a kernel's values have to do with the thread that computes them: whether they differ between threads, and the
// linear form of an index in a thread's own numbers.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Dominators.h>

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "metal/lint/lint.h"

namespace anymps::metal::lint {

// A value that forms are made of. Without a value it is one of the numbers below.
struct Symbol {
  const llvm::Value* value = nullptr;
  unsigned number = 0;
  auto operator<=>(const Symbol&) const = default;
};

// A thread's place in its simdgroup, that in its threadgroup, and its position in the threadgroup where that has more
// than one axis.
inline constexpr Symbol kLane{nullptr, 0};
inline constexpr Symbol kSimdgroup{nullptr, 1};
constexpr Symbol position_symbol(unsigned axis) { return {nullptr, 2 + axis}; }
constexpr bool is_thread_number(const Symbol& symbol) { return symbol.value == nullptr; }

// constant + the sum of coefficient * symbol. Arithmetic is taken not to wrap around.
struct Form {
  std::int64_t constant = 0;
  std::map<Symbol, std::int64_t> terms;

  bool operator==(const Form&) const = default;
  bool is_constant() const { return terms.empty(); }
  Form& add(const Form& other, std::int64_t factor);
};

using Equalities = std::map<Symbol, std::int64_t>;
Form substituted(const Form& form, const Equalities& equalities);

// A branch on the way to a block that is taken there, by its condition.
struct Guard {
  const llvm::Value* condition = nullptr;
  bool taken = true;
  bool differs = false;  // between threads
  bool operator==(const Guard&) const = default;
};

class ThreadValues {
 public:
  explicit ThreadValues(const Kernel& kernel);

  const llvm::DominatorTree& dominators() const { return dominators_; }

  // Whether threads of a threadgroup may have different values of it.
  bool differs(const llvm::Value* value);
  // Of an integer.
  Form form_of(const llvm::Value* value);
  // Whether a symbol of it, other than a thread's numbers, differs between threads.
  bool has_unknown_of_thread(const Form& form);

  std::vector<Guard> guards_of(const llvm::BasicBlock* block);
  // What these say of a thread's numbers.
  Equalities equalities_of(const std::vector<Guard>& guards);

  // The largest value of a thread's number.
  std::int64_t most(const Symbol& symbol) const;

 private:
  std::optional<Form> root_of(const llvm::Value* value, unsigned component) const;
  Form read(const llvm::Value* value, unsigned depth);
  std::optional<std::pair<Form, Form>> split(const Form& form, std::int64_t divisor) const;
  bool compute_differs(const llvm::Value* value);
  void add_equalities(const llvm::Value* condition, bool taken, Equalities& equalities);
  void add_zero(const Form& form, Equalities& equalities) const;
  void add_below(const Form& form, std::int64_t bound, Equalities& equalities) const;

  const Kernel& kernel_;
  llvm::DominatorTree dominators_;
  bool several_axes_ = false;  // of a thread's position
  llvm::DenseMap<const llvm::Value*, bool> differs_;
};

}  // namespace anymps::metal::lint
