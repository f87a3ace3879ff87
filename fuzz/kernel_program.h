// A program of one Metal kernel "k" as a tree of statements, of which parts can be taken away, and how it is launched.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace anymps::fuzz {

struct Statement {
  struct Block {
    std::string head;  // "if (x) {", "} else {"
    std::vector<Statement> body;
  };
  std::string text = {};           // a statement, or what comes before the blocks
  std::vector<Block> blocks = {};  // none for a plain statement
  std::string tail = {};           // behind the blocks
  bool opens = true;               // it may be replaced by what is in a block
};

// In threads, along x and y.
struct LaunchShape {
  std::array<std::uint32_t, 2> grid;
  std::array<std::uint32_t, 2> group;
  std::uint32_t threads() const { return grid[0] * grid[1]; }
};

// How to launch a program; its first line says it: "// values 3, grid 100x1 group 32x1, grid 40x3 group 16x8".
struct LaunchPlan {
  unsigned values = 0;  // which of the sets of numbers the buffers are filled with
  std::vector<LaunchShape> shapes;
};
std::string text_of(const LaunchPlan& plan);
// Throws std::runtime_error for another line.
LaunchPlan plan_of(std::string_view source);

struct KernelProgram {
  std::string head;  // to the kernel's opening brace, and what every program begins with
  std::vector<Statement> body;
  std::string tail;
  LaunchPlan plan;
  std::string source() const;
};

}  // namespace anymps::fuzz
