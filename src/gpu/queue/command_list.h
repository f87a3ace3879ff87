// CommandList: what a command buffer does, in order. Commands lie in chunks of memory one behind the other, so that
// encoding one allocates nothing as long as the chunk has room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "gpu/queue/shared_event.h"

namespace anymps::gpu::queue {

class CommandList {
 public:
  // One command. It runs at most once, and is destroyed whether it ran or not.
  struct Command {
    enum class Kind : std::uint8_t { kWork, kSignal, kWait };

    Kind kind = Kind::kWork;
    Command* next = nullptr;
    void (*run)(Command&) = nullptr;  // of work
    void (*destroy)(Command&) noexcept = nullptr;
  };
  struct EventCommand : Command {
    std::shared_ptr<SharedEvent> event;
    std::uint64_t value = 0;
  };

  CommandList() = default;
  ~CommandList() { clear(); }
  CommandList(const CommandList&) = delete;
  CommandList& operator=(const CommandList&) = delete;

  template <typename Work>
  void add_work(Work&& work) {
    using Kept = std::decay_t<Work>;
    struct Node : Command {
      explicit Node(Work&& given) : work(std::forward<Work>(given)) {}
      Kept work;
    };
    static_assert(alignof(Node) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__, "chunks are aligned as new aligns");
    auto* node = new (place(sizeof(Node), alignof(Node))) Node(std::forward<Work>(work));
    node->run = [](Command& command) { static_cast<Node&>(command).work(); };
    node->destroy = [](Command& command) noexcept { static_cast<Node&>(command).~Node(); };
    append(node);
  }

  void add_event(Command::Kind kind, std::shared_ptr<SharedEvent> event, std::uint64_t value) {
    auto* node = new (place(sizeof(EventCommand), alignof(EventCommand))) EventCommand{};
    node->kind = kind;
    node->event = std::move(event);
    node->value = value;
    node->destroy = [](Command& command) noexcept { static_cast<EventCommand&>(command).~EventCommand(); };
    append(node);
  }

  bool empty() const { return first_ == nullptr; }
  std::size_t size() const { return size_; }
  Command* front() const { return first_; }

  // Destroys the first command.
  void pop_front() noexcept {
    Command* gone = std::exchange(first_, first_->next);
    if (first_ == nullptr) last_ = nullptr;
    --size_;
    gone->destroy(*gone);
  }

  void clear() noexcept {
    while (!empty()) pop_front();
    used_ = 0;
    chunk_ = 0;
  }

 private:
  static constexpr std::size_t kChunk = std::size_t{16} << 10;

  struct Chunk {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size;
  };

  void* place(std::size_t bytes, std::size_t alignment) {
    for (;;) {
      if (chunk_ < chunks_.size()) {
        Chunk& chunk = chunks_[chunk_];
        const std::size_t start = (used_ + alignment - 1) / alignment * alignment;
        if (start + bytes <= chunk.size) {
          used_ = start + bytes;
          return chunk.bytes.get() + start;
        }
        ++chunk_;
        used_ = 0;
      } else {
        const std::size_t size = bytes > kChunk ? bytes : kChunk;
        chunks_.push_back({std::make_unique_for_overwrite<std::byte[]>(size), size});
      }
    }
  }

  void append(Command* command) noexcept {
    (last_ == nullptr ? first_ : last_->next) = command;
    last_ = command;
    ++size_;
  }

  std::vector<Chunk> chunks_;
  std::size_t chunk_ = 0;  // the one that is being filled
  std::size_t used_ = 0;   // of it
  Command* first_ = nullptr;
  Command* last_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace anymps::gpu::queue
