// What PyTorch's operators refuse on MPS though they are there: types, shapes, tensors of the CPU; and in which
// releases. The facts lie in data/refusals.txt and are compiled in, for readers; the backend has a table of its own,
// which it can look types up in.
#pragma once

#include <span>
#include <string_view>

namespace anymps::gpu::history {

// Of older releases it is not known what their operators refuse.
inline constexpr std::string_view kFirstKnownRefusals = "2.11";
bool refusals_known(std::string_view release);  // "2.13.0"

struct RefusalHistory {
  std::string_view operators;  // "mm, bmm.out", without namespace; without overload for all of them
  std::string_view when;       // "A: not float32", "mask: on cpu" or "[types_differ]"
  std::string_view exception;  // "RuntimeError"; or "alert", of torch.use_deterministic_algorithms
  std::string_view text;       // with {dtype}, {metal} and so on for what the call fills in
  std::string_view first;      // "2.12", a minor release; empty: since kFirstKnownRefusals at the least
  std::string_view last;       // the same; empty: still

  bool concerns(std::string_view release) const;        // "2.13.0"
  bool names(std::string_view operator_name) const;     // "mm", with or without overload
  bool can_be_text_of(std::string_view message) const;  // whatever stands for {dtype}
};

// In the file's order.
std::span<const RefusalHistory> refusal_histories();

}  // namespace anymps::gpu::history
