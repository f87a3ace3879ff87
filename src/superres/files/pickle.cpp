#include "superres/files/pickle.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <unordered_map>

namespace anymps::superres::files {

namespace {

using Kind = PickleValue::Kind;

constexpr std::size_t kLongestGlobalName = 512;

}  // namespace

const PickleValue* PickleValue::find(std::string_view name) const {
  for (const auto& [key, value] : entries) {
    if (key->is(Kind::kText) && key->text == name) return value;
  }
  return nullptr;
}

// The stack machine that a pickle is a program for.
class PickleMachine {
 public:
  PickleMachine(std::string_view bytes, Pickle& pickle) : bytes_(bytes), pickle_(pickle) {}

  void run() {
    while (true) {
      const char code = take(1).front();
      if (code == '.') break;
      step(code);
    }
    pickle_.top_ = pop();
  }

 private:
  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size()) throw PickleError("it is cut short");
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }

  template <typename Number>
  Number number() {
    Number value;
    const std::string_view taken = take(sizeof(value));
    std::memcpy(&value, taken.data(), taken.size());
    return value;
  }

  std::string_view line() {
    const std::size_t end = bytes_.find('\n');
    if (end == std::string_view::npos) throw PickleError("it is cut short");
    const std::string_view text = take(end);
    take(1);
    return text;
  }

  PickleValue* made(Kind kind) {
    PickleValue& value = pickle_.values_.emplace_back();
    value.kind = kind;
    return &value;
  }

  void push(PickleValue* value) { stack_.push_back(value); }
  void push_integer(std::int64_t number) {
    push(made(Kind::kInteger));
    stack_.back()->integer = number;
  }
  void push_text(std::string_view text) {
    push(made(Kind::kText));
    stack_.back()->text = text;
  }
  void push_global(std::string_view module, std::string_view name) {
    push(made(Kind::kGlobal));
    stack_.back()->text = fmt::format("{}.{}", module, name);
  }

  PickleValue* pop() {
    PickleValue* value = top();
    stack_.pop_back();
    return value;
  }

  PickleValue* top() const {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) throw PickleError("it is damaged");
    return stack_.back();
  }

  // What lies above the last mark, which goes with it.
  std::vector<PickleValue*> pop_to_mark() {
    if (marks_.empty()) throw PickleError("it is damaged");
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<PickleValue*> taken(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return taken;
  }

  void push_list(const std::vector<PickleValue*>& items) {
    push(made(Kind::kList));
    stack_.back()->items.assign(items.begin(), items.end());
  }

  void push_tuple(std::size_t count) {
    std::vector<PickleValue*> items(count);
    for (std::size_t i = count; i-- > 0;) items[i] = pop();
    push_list(items);
  }

  void append(const std::vector<PickleValue*>& items) {
    PickleValue* list = top();
    list->items.insert(list->items.end(), items.begin(), items.end());
  }

  void set(const std::vector<PickleValue*>& items) {
    PickleValue* target = top();
    if (items.size() % 2 != 0) throw PickleError("it is damaged");
    // An OrderedDict is the result of a call, and filled as a dictionary.
    if (target->is(Kind::kCall)) target->kind = Kind::kDictionary;
    for (std::size_t i = 0; i < items.size(); i += 2) target->entries.emplace_back(items[i], items[i + 1]);
  }

  // An integer of `count` bytes, the lowest first; PyTorch writes storages' names and seeds of up to eight.
  void push_long(std::uint64_t count) {
    const std::string_view digits = take(count);
    std::uint64_t value = count > 0 && (digits.back() & 0x80) != 0 ? ~std::uint64_t{0} : 0;
    for (std::size_t i = std::min<std::size_t>(count, 8); i-- > 0;) {
      value = value << 8 | static_cast<std::uint8_t>(digits[i]);
    }
    push_integer(std::bit_cast<std::int64_t>(value));
  }

  void remember(std::uint64_t place) { memo_[place] = top(); }
  void recall(std::uint64_t place) {
    const auto found = memo_.find(place);
    if (found == memo_.end()) throw PickleError("it is damaged");
    push(found->second);
  }

  void push_call() {
    PickleValue* arguments = pop();
    PickleValue* function = pop();
    push(made(Kind::kCall));
    stack_.back()->items = {function, arguments};
  }

  void step(char code) {
    if (!step_of_numbers(code) && !step_of_texts(code) && !step_of_containers(code) && !step_of_objects(code)) {
      throw PickleError(fmt::format("it has the instruction {:#04x}, which PyTorch's files have not",
                                    static_cast<unsigned char>(code)));
    }
  }

  bool step_of_numbers(char code) {
    switch (code) {
      case 'N':
        push(made(Kind::kNone));
        return true;
      case '\x88':
      case '\x89':
        push_integer(code == '\x88' ? 1 : 0);
        return true;
      case 'J':
        push_integer(number<std::int32_t>());
        return true;
      case 'K':
        push_integer(number<std::uint8_t>());
        return true;
      case 'M':
        push_integer(number<std::uint16_t>());
        return true;
      case '\x8a':
        push_long(number<std::uint8_t>());
        return true;
      case 'G': {
        push(made(Kind::kReal));
        std::uint64_t bits = 0;
        for (const char byte : take(sizeof(bits))) bits = bits << 8 | static_cast<std::uint8_t>(byte);
        stack_.back()->real = std::bit_cast<double>(bits);
        return true;
      }
      default:
        return false;
    }
  }

  bool step_of_texts(char code) {
    switch (code) {
      case 'X':
      case 'T':
      case 'B':
        push_text(take(number<std::uint32_t>()));
        return true;
      case 'U':
      case 'C':
      case '\x8c':
        push_text(take(number<std::uint8_t>()));
        return true;
      case '\x8d':
      case '\x8e':
        push_text(take(number<std::uint64_t>()));
        return true;
      default:
        return false;
    }
  }

  bool step_of_containers(char code) {
    switch (code) {
      case '(':
        marks_.push_back(stack_.size());
        return true;
      case ')':
      case ']':
      case '\x8f':
        push(made(Kind::kList));
        return true;
      case '}':
        push(made(Kind::kDictionary));
        return true;
      case 't':
      case 'l':
        push_list(pop_to_mark());
        return true;
      case '\x85':
      case '\x86':
      case '\x87':
        push_tuple(static_cast<std::size_t>(code - '\x85') + 1);
        return true;
      case 'a': {
        PickleValue* item = pop();
        append({item});
        return true;
      }
      case 'e':
      case '\x90':
        append(pop_to_mark());
        return true;
      case 's': {
        PickleValue* value = pop();
        PickleValue* key = pop();
        set({key, value});
        return true;
      }
      case 'u':
        set(pop_to_mark());
        return true;
      default:
        return false;
    }
  }

  bool step_of_objects(char code) {
    switch (code) {
      case '\x80':
        take(1);  // the protocol
        return true;
      case '\x95':
        take(8);  // a frame's length
        return true;
      case '0':
        pop();
        return true;
      case 'q':
        remember(number<std::uint8_t>());
        return true;
      case 'r':
        remember(number<std::uint32_t>());
        return true;
      case '\x94':
        remember(memo_.size());
        return true;
      case 'h':
        recall(number<std::uint8_t>());
        return true;
      case 'j':
        recall(number<std::uint32_t>());
        return true;
      case 'c': {
        const std::string_view module = line();
        push_global(module, line());
        return true;
      }
      case '\x93': {
        const PickleValue* name = pop();
        const PickleValue* module = pop();
        // A text that is there once must not grow by being named.
        if (!name->is(Kind::kText) || !module->is(Kind::kText) ||
            name->text.size() + module->text.size() > kLongestGlobalName) {
          throw PickleError("it is damaged");
        }
        push_global(module->text, name->text);
        return true;
      }
      case 'R':
      case '\x81':
        push_call();
        return true;
      case 'b':
        pop();  // attributes, such as the _metadata of a state_dict
        return true;
      case 'Q': {
        PickleValue* name = pop();
        push(made(Kind::kPersistent));
        stack_.back()->items = {name};
        return true;
      }
      default:
        return false;
    }
  }

  std::string_view bytes_;
  Pickle& pickle_;
  std::vector<PickleValue*> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, PickleValue*> memo_;
};

Pickle::Pickle(std::string_view bytes) { PickleMachine(bytes, *this).run(); }

}  // namespace anymps::superres::files
