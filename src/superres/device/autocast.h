// Mixed precision for as long as an object lives.
#pragma once

#include <ATen/autocast_mode.h>

namespace anymps::superres::device {

// In bfloat16 on every device: its range is that of float, so that small gradients need no scaling.
class Autocast {
 public:
  Autocast(c10::DeviceType type, bool on)
      : type_(type), was_on_(at::autocast::is_autocast_enabled(type)), dtype_(at::autocast::get_autocast_dtype(type)) {
    at::autocast::set_autocast_dtype(type, at::kBFloat16);
    at::autocast::set_autocast_enabled(type, on);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;
  ~Autocast() {
    at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(type_, was_on_);
    at::autocast::set_autocast_dtype(type_, dtype_);
  }

 private:
  c10::DeviceType type_;
  bool was_on_;
  at::ScalarType dtype_;
};

}  // namespace anymps::superres::device
