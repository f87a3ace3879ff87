// The order of blocks that brings lanes together again (program.h).
#pragma once

#include <optional>
#include <vector>

namespace anymps::metal::interpret {

struct BlockOrder {
  std::vector<unsigned> block_at;                 // by position
  std::vector<std::vector<unsigned>> edge_leads;  // by block and successor: the position that it leads to
};

// Of the blocks that block 0 leads to. Nothing where a loop has two ways in.
std::optional<BlockOrder> order_blocks(const std::vector<std::vector<unsigned>>& successors);

}  // namespace anymps::metal::interpret
