#include "kernel_reducer.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstddef>
#include <utility>

namespace anymps::fuzz {
namespace {

using Clock = std::chrono::steady_clock;
using Statements = std::vector<Statement>;

class Reducer {
 public:
  Reducer(KernelProgram program, const StillThere& still_there, double seconds)
      : program_(std::move(program)),
        still_there_(still_there),
        until_(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}

  KernelProgram run() {
    reduce_launches();
    do {
      changed_ = false;
      reduce_statements(program_.body);
      reduce_texts(program_.body);
    } while (changed_ && Clock::now() < until_);
    return std::move(program_);
  }

 private:
  // Changes a part of the program, and changes it back where that takes too much away.
  template <typename Part>
  bool change(Part& part, Part to) {
    if (Clock::now() >= until_) return false;
    std::swap(part, to);
    if (still_there_(program_)) return changed_ = true;
    std::swap(part, to);
    return false;
  }

  void reduce_launches() {
    auto& shapes = program_.plan.shapes;
    while (shapes.size() > 1) {
      auto others = shapes;
      others.pop_back();
      if (change(shapes, others)) continue;
      others = shapes;
      others.erase(others.begin());
      if (!change(shapes, others)) break;
    }
    for (LaunchShape& shape : shapes) {
      for (unsigned axis : {0U, 1U}) {
        LaunchShape one = shape;
        one.grid[axis] = std::min(shape.grid[axis], shape.group[axis]);
        if (one.grid != shape.grid) change(shape, one);
      }
    }
  }

  void reduce_statements(Statements& list) {
    for (std::size_t run = std::max<std::size_t>(list.size() / 2, 1); run > 0; run /= 2) {
      for (std::size_t at = list.size(); at-- > 0;) {
        if (at + run > list.size()) continue;
        Statements fewer = list;
        const auto begin = fewer.begin() + static_cast<std::ptrdiff_t>(at);
        fewer.erase(begin, begin + static_cast<std::ptrdiff_t>(run));
        change(list, std::move(fewer));
      }
    }
    for (std::size_t at = list.size(); at-- > 0;) reduce_blocks(list, at);
  }

  void reduce_blocks(Statements& list, std::size_t at) {
    if (list[at].opens) {
      for (const Statement::Block& block : list[at].blocks) {
        Statements opened = list;
        opened.erase(opened.begin() + static_cast<std::ptrdiff_t>(at));
        opened.insert(opened.begin() + static_cast<std::ptrdiff_t>(at), block.body.begin(), block.body.end());
        if (change(list, std::move(opened))) return;
      }
    }
    for (std::size_t i = list[at].blocks.size(); i-- > 1;) {
      std::vector<Statement::Block> fewer = list[at].blocks;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      change(list[at].blocks, std::move(fewer));
    }
    for (Statement::Block& block : list[at].blocks) reduce_statements(block.body);
  }

  void reduce_texts(Statements& list) {
    for (Statement& statement : list) {
      reduce_text(statement.text);
      for (Statement::Block& block : statement.blocks) {
        reduce_text(block.head);
        reduce_texts(block.body);
      }
      reduce_text(statement.tail);
    }
  }

  // A pair of parentheses that belongs to no name is an expression's; casts and calls are left to their insides.
  void reduce_text(std::string& text) {
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (text[at] != '(') continue;
      const std::size_t end = closing(text, at);
      if (end == std::string::npos) return;
      const bool named = at > 0 && (std::isalnum(static_cast<unsigned char>(text[at - 1])) != 0 || text[at - 1] == '_');
      const std::string before = text.substr(0, at);
      const std::string inside = text.substr(at + 1, end - at - 1);
      const std::string after = text.substr(end + 1);
      if (!named) {
        change(text, before + "1" + after);
      } else if (inside.find_first_not_of("0123456789uf.") != std::string::npos && is_type(before)) {
        change(text, before + "(1)" + after);
      }
    }
  }

  static bool is_type(const std::string& before) {
    constexpr const char* kTypes[] = {"uchar", "short", "int", "uint", "long", "ulong", "half", "float", "float4"};
    const std::size_t begin = before.find_last_of(" (,!-[") + 1;
    return std::ranges::find(kTypes, before.substr(begin)) != std::end(kTypes);
  }

  static std::size_t closing(const std::string& text, std::size_t at) {
    int depth = 0;
    for (; at < text.size(); ++at) {
      if (text[at] == '(') ++depth;
      if (text[at] == ')' && --depth == 0) return at;
    }
    return std::string::npos;
  }

  KernelProgram program_;
  const StillThere& still_there_;
  const Clock::time_point until_;
  bool changed_ = false;
};

}  // namespace

KernelProgram reduced(KernelProgram program, const StillThere& still_there, double seconds) {
  return Reducer(std::move(program), still_there, seconds).run();
}

}  // namespace anymps::fuzz
