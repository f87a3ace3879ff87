#include "metal/interpret/order.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

namespace anymps::metal::interpret {
namespace {

using Successors = std::vector<std::vector<unsigned>>;

class Orderer {
 public:
  explicit Orderer(const Successors& successors)
      : successors_(successors), predecessors_(successors.size()), state_(successors.size(), State::kNew) {}

  std::optional<BlockOrder> run() {
    find_back_edges();
    for (const auto& [source, header] : back_edges_) gather_loop(source, header);
    if (!place()) return std::nullopt;
    BlockOrder order{.block_at = std::move(block_at_), .edge_leads = {}};
    order.edge_leads.resize(successors_.size());
    for (unsigned block : reached_) {
      for (const unsigned next : successors_[block]) {
        const bool back = back_edges_.contains({block, next});
        order.edge_leads[block].push_back(back ? latch_.at(next) : position_[next]);
      }
    }
    return order;
  }

 private:
  enum class State : unsigned char { kNew, kOpen, kDone };

  // Depth first, without recursion: kernels have thousands of blocks. An edge to an open block goes back.
  void find_back_edges() {
    std::vector<std::pair<unsigned, std::size_t>> open{{0, 0}};
    state_[0] = State::kOpen;
    while (!open.empty()) {
      auto& [block, edge] = open.back();
      if (edge == successors_[block].size()) {
        state_[block] = State::kDone;
        reached_.push_back(block);
        open.pop_back();
        continue;
      }
      const unsigned next = successors_[block][edge++];
      if (state_[next] == State::kOpen) {
        back_edges_.insert({block, next});
      } else {
        predecessors_[next].insert(block);
        if (state_[next] == State::kNew) {
          state_[next] = State::kOpen;
          open.emplace_back(next, 0);
        }
      }
    }
    std::ranges::reverse(reached_);
  }

  // A loop: what leads to its back edge without passing its header.
  void gather_loop(unsigned source, unsigned header) {
    std::set<unsigned>& loop = loops_[header];
    loop.insert(header);
    std::vector<unsigned> todo{source};
    while (!todo.empty()) {
      const unsigned block = todo.back();
      todo.pop_back();
      if (!loop.insert(block).second) continue;
      todo.insert(todo.end(), predecessors_[block].begin(), predecessors_[block].end());
      for (const auto& [from, to] : back_edges_) {
        if (to == block) todo.push_back(from);
      }
    }
  }

  bool placed(unsigned block) const { return position_[block] != kNowhere; }
  bool ready(unsigned block) const {
    return !placed(block) && std::ranges::all_of(predecessors_[block], [&](unsigned before) { return placed(before); });
  }

  bool place() {
    struct Open {
      unsigned header;
      std::size_t left;  // blocks that are not placed
    };
    std::vector<Open> open;  // loops, the innermost last
    position_.assign(successors_.size(), kNowhere);
    for (std::size_t i = 0; i < reached_.size(); ++i) {
      const std::set<unsigned>* inside = open.empty() ? nullptr : &loops_.at(open.back().header);
      const auto next = std::ranges::find_if(
          reached_, [&](unsigned block) { return ready(block) && (inside == nullptr || inside->contains(block)); });
      if (next == reached_.end()) return false;
      position_[*next] = static_cast<unsigned>(block_at_.size());
      block_at_.push_back(*next);
      if (const auto loop = loops_.find(*next); loop != loops_.end()) open.push_back({*next, loop->second.size()});
      for (Open& loop : open) --loop.left;
      for (; !open.empty() && open.back().left == 0; open.pop_back()) {
        latch_[open.back().header] = static_cast<unsigned>(block_at_.size());
        block_at_.push_back(open.back().header);
      }
    }
    return true;
  }

  static constexpr unsigned kNowhere = ~0U;

  const Successors& successors_;
  std::vector<std::set<unsigned>> predecessors_;  // but for back edges
  std::vector<State> state_;
  std::vector<unsigned> reached_;
  std::set<std::pair<unsigned, unsigned>> back_edges_;
  std::map<unsigned, std::set<unsigned>> loops_;  // by header
  std::vector<unsigned> position_;                // by block
  std::map<unsigned, unsigned> latch_;            // by header
  std::vector<unsigned> block_at_;
};

}  // namespace

std::optional<BlockOrder> order_blocks(const std::vector<std::vector<unsigned>>& successors) {
  return Orderer(successors).run();
}

}  // namespace anymps::metal::interpret
