#include "backend/runtime/mps_log.h"

#include <ATen/core/Tensor.h>
#include <c10/util/StringUtil.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "backend/runtime/argument_tensors.h"
#include "backend/runtime/call_site.h"

namespace anymps::backend::runtime {
namespace {

int level_from_environment() {
  const char* text = std::getenv("PYTORCH_MPS_LOG_LEVEL");
  return text != nullptr ? static_cast<int>(std::strtol(text, nullptr, 10)) : 0;
}

std::atomic<int>& level_now() noexcept {
  static std::atomic<int> level{level_from_environment()};
  return level;
}

// In one write, so that lines of several threads stay apart.
void write_line(const std::string& text) {
  const std::string site = call_site();
  const std::string line = "[mps] " + text + (site.empty() ? "" : " at " + site) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

// "Float[2, 3], Long[4]", and how many bytes they have.
std::string tensors_among(const std::vector<c10::IValue>& values, std::size_t& bytes) {
  std::string text;
  for_each_tensor(values, [&](const at::Tensor& tensor) {
    if (!tensor.defined()) return;
    bytes += tensor.nbytes();
    text += c10::str(text.empty() ? "" : ", ", tensor.scalar_type(), tensor.sizes());
  });
  return text;
}

}  // namespace

bool logs(LogLevel level) noexcept { return level_now().load(std::memory_order_relaxed) >= static_cast<int>(level); }

void set_log_level(int level) noexcept { level_now().store(level, std::memory_order_relaxed); }

void log_fallback(std::string_view name, const std::vector<c10::IValue>& arguments,
                  const std::vector<c10::IValue>& results) {
  std::size_t bytes = 0;
  const std::string from = tensors_among(arguments, bytes);
  const std::string to = tensors_among(results, bytes);
  write_line(c10::str("fallback to the CPU: ", name, "(", from, ") -> (", to, "), ", bytes, " bytes copied"));
}

void log_wait(std::string_view what) { write_line(c10::str("wait for the device: ", what)); }

void log_allocation(std::size_t bytes, std::size_t in_tensors) {
  write_line(c10::str("allocated ", bytes, " bytes, ", in_tensors, " in tensors now"));
}

}  // namespace anymps::backend::runtime
