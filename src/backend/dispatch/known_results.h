// KnownResults: what an operator's results look like, by the key of its call (call_key.h), and the calls of each kind
// that can be used again.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/ArrayRef.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "backend/dispatch/queued_call.h"
#include "backend/dispatch/result_kind.h"

namespace anymps::backend::dispatch {

class KnownResults {
 public:
  // For an operator that is a function: commands that are left when the program ends run while static objects are being
  // torn down.
  static KnownResults& kept_for_good() { return *new KnownResults; }

  // nullptr: the call has to run when it is called. What is returned stays for good.
  const KnownCall* find(std::string_view key) const;
  // From a call that ran: the tensors that it may have returned, and its results, both as the caller has them. Nothing
  // is learned of results that cannot be made before the call runs, nor behind the last of a number of kinds: nullptr.
  const KnownCall* learn(std::string_view key, c10::ArrayRef<at::Tensor> arguments, c10::ArrayRef<at::Tensor> results);

 private:
  // Programs whose shapes never come again would fill the memory.
  static constexpr std::size_t kMost = 4096;

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::unique_ptr<const KnownCall>, Hash, std::equal_to<>> results_;
};

}  // namespace anymps::backend::dispatch
