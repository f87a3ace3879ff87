// What a pickle holds, read without running anything of it.
#pragma once

#include <cstdint>
#include <deque>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace anymps::superres::files {

// One line about what is wrong with it.
struct PickleError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct PickleValue {
  enum class Kind {
    kNone,
    kInteger,
    kReal,
    kText,        // strings and bytes
    kList,        // lists, tuples and sets
    kDictionary,  // of any class that is filled as one is
    kGlobal,      // "module.name", in text
    kCall,        // items: what would be called, and its arguments as a list
    kPersistent,  // items: what the program that wrote it calls this
  };

  Kind kind = Kind::kNone;
  std::int64_t integer = 0;
  double real = 0;
  std::string text;
  std::vector<const PickleValue*> items;
  std::vector<std::pair<const PickleValue*, const PickleValue*>> entries;

  bool is(Kind other) const { return kind == other; }
  // Where it is a dictionary with such an entry; otherwise none.
  const PickleValue* find(std::string_view name) const;
};

// Protocols 0 to 5 as far as PyTorch's files use them. Calls are kept as values, never made; attributes are left out.
class Pickle {
 public:
  // Throws PickleError.
  explicit Pickle(std::string_view bytes);

  const PickleValue& value() const { return *top_; }

 private:
  friend class PickleMachine;

  std::deque<PickleValue> values_;  // so that cycles are no leaks
  const PickleValue* top_ = nullptr;
};

}  // namespace anymps::superres::files
