// A function of AIR as the interpreter runs it.
//
// Lanes that part come together as on hardware that runs them in lockstep. Each lane stands at the block that it is to
// enter; of those the earliest runs, with all lanes that stand there. Blocks are ordered such that one comes after all
// that lead to it and after the whole of a loop that it lies behind; so lanes wait for all that may still join them.
// Lanes that go around a loop stand at a position of their own behind the loop's last block: nobody begins the next
// iteration before the others are through with this one. AIR does not keep where a loop ended in the source: a block
// from which no way leads back into the loop lies behind it, also one that some enter in the middle of an iteration.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "metal/interpret/lanes.h"

namespace anymps::metal::interpret {

struct Function;

struct Move {
  Operand to;
  Operand from;
};

struct Edge {
  unsigned position = 0;
  std::vector<Move> phis;
};

struct Action {
  enum class Kind : std::uint8_t { kStep, kCall, kThreadgroupBarrier };
  Kind kind = Kind::kStep;
  Step step;
  const Function* callee = nullptr;
  std::vector<Move> arguments;  // from the caller's registers to the callee's
  Operand result;               // in the caller's
};

struct Block {
  std::vector<Action> actions;
  enum class End : std::uint8_t { kGo, kReturn, kUnreachable };
  End end = End::kGo;
  Operand value;  // what is returned, or decides which edge is taken
  std::vector<Edge> edges;
  std::vector<std::uint64_t> cases;  // a value for each edge but the last, which is for all others
};

struct Function {
  std::string name;
  std::vector<Block> blocks;
  std::vector<unsigned> block_at;  // by position; a loop's first block has two
  std::vector<Operand> parameters;
  std::size_t register_bytes = 0;
  std::size_t own_bytes = 0;  // of a lane's variables
};

}  // namespace anymps::metal::interpret
