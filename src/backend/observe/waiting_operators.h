// Operators whose result the host has to wait for on a Mac: how many elements it has is known to the device alone, or
// it is a value of the host's.
#pragma once

#include <ATen/core/ivalue.h>

#include <string_view>

namespace anymps::backend::observe {

class WaitingOperator {
 public:
  explicit WaitingOperator(std::string_view name);  // of the operator, without its namespace and overload

  // What the host waits for in a call with these arguments; nullptr where for nothing.
  const char* wait_of(c10::ArrayRef<c10::IValue> arguments) const;

 private:
  const char* what_ = nullptr;
  bool if_masked_ = false;  // only where an index is a mask
};

}  // namespace anymps::backend::observe
