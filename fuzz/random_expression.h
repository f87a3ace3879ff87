// Random expressions of a kernel, with a value whatever the operands are: no shift too far, no division by zero, no
// signed overflow, no index outside. All but calls and casts are in parentheses of their own, so that a reducer can put
// a number in the place of a pair.
#pragma once

#include <string>
#include <vector>

#include "random.h"

namespace anymps::fuzz {

enum class Type { kBool, kUchar, kShort, kInt, kUint, kLong, kHalf, kFloat, kUint2, kUchar4, kHalf2, kFloat3, kFloat4 };
const char* name_of(Type type);
// Of a vector.
Type element_of(Type type);
unsigned count_of(Type type);

// What threads of a kernel do together.
enum class Together { kNothing, kSimdgroups, kThreadgroups };

struct Variable {
  std::string name;
  Type type;
  bool uniform = false;  // the same in all threads of a threadgroup
  bool assignable = true;
  bool small = false;  // a loop's count, below 16
};

// A thread's own.
struct Array {
  std::string name;
  Type element;
  unsigned count;  // a power of two
};

struct Scope {
  std::vector<Variable> variables;
  std::vector<Array> arrays;
  bool shared = false;  // what others wrote to threadgroup memory can be read
};

class Expressions {
 public:
  Expressions(Random& random, const Scope& scope, Together together, bool rows, unsigned deepest)
      : random_(random), scope_(scope), together_(together), rows_(rows), deepest_(deepest) {}

  std::string of(Type type, bool uniform = false);
  // Below `count`, a power of two.
  std::string below(unsigned count, bool uniform = false);
  // Of an input, at a place that follows from the thread's position.
  std::string load(Type type);
  // The numbers that a type can be made of.
  static bool is_scalar(Type type) { return type < Type::kUint2; }
  Type scalar_type();  // not bool
  Type vector_type();

 private:
  std::string of(Type type, bool uniform, unsigned depth);
  std::string leaf(Type type, bool uniform);
  std::string literal(Type type);
  std::string variable(Type type, bool uniform);
  std::string position();
  std::string place(Type type, std::string& input);
  std::string truth(bool uniform, unsigned depth);
  std::string word(Type type, bool uniform, unsigned depth);
  std::string narrow(Type type, bool uniform, unsigned depth);
  std::string wide(bool uniform, unsigned depth);
  std::string real(Type type, bool uniform, unsigned depth);
  std::string vector(Type type, bool uniform, unsigned depth);
  std::string converted(Type type, bool uniform, unsigned depth);
  std::string number(unsigned least, unsigned most, const char* suffix = "u");

  Random& random_;
  const Scope& scope_;
  const Together together_;
  const bool rows_;         // the grid has two dimensions
  const unsigned deepest_;  // operations in operations
};

}  // namespace anymps::fuzz
