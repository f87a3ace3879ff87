#include "superres/device/out_of_memory.h"

#include <c10/util/Exception.h>

#include <new>
#include <string_view>

namespace anymps::superres::device {

bool is_out_of_memory(const std::exception& error) {
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr) return true;
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return true;
  const std::string_view text = error.what();
  // The second and third are the CPU's allocator's.
  for (const char* words : {"out of memory", "not enough memory", "can't allocate memory"}) {
    if (text.find(words) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace anymps::superres::device
