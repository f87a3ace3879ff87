#include "lab/size/memory_remedies.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "gpu/support/machine_memory.h"
#include "gpu/support/whole_number.h"
#include "lab/base/text_wrap.h"
#include "lab/base/units.h"

namespace anymps::lab::size {
namespace {

constexpr std::array<std::string_view, 5> kBatchNames = {"--batch-size", "--batch_size", "--batch", "--bs", "-b"};

std::string batch_advice(const trace::RunSummary& run) {
  const std::uint64_t batch = batch_in(run.command);
  if (batch > 1) {
    return fmt::format("Make the batch smaller: this run asked for {}; try {}, and add up gradients over two steps.",
                       batch, batch / 2);
  }
  return "Make the batch smaller, and add up gradients over more steps to keep its effect.";
}

std::string buffer_advice(const SimulatedMac& mac) {
  return fmt::format(
      "Split the tensor: {} allows {} in a single buffer, however much memory is free. Compute it in chunks "
      "(torch.split "
      "along the batch), or in float16.",
      mac.name, base::human_bytes(gpu::history::max_buffer_for(mac.working_set)));
}

std::string limit_advice(const trace::RunSummary& run, const SimulatedMac& mac) {
  const std::string at = run.memory.limit_bytes != 0 ? base::human_bytes(run.memory.limit_bytes) : "no limit";
  return fmt::format(
      "Look at the limit: it stood at {}, the working set of {} is {}. PYTORCH_MPS_HIGH_WATERMARK_RATIO or "
      "torch.mps.set_per_process_memory_fraction() move it; beyond the {} of memory a Mac swaps, and may stop "
      "answering.",
      at, mac.name, base::human_bytes(mac.working_set), base::human_bytes(mac.memory));
}

std::string cache_advice(const trace::RunSummary& run) {
  const trace::Memory& memory = run.memory;
  const std::uint64_t cached = memory.driver_bytes - std::min(memory.driver_bytes, memory.tensor_bytes);
  return fmt::format(
      "Give cached memory back between phases: torch.mps.empty_cache(). At the peaks, {} was held beyond the {} in "
      "tensors.",
      base::human_bytes(cached), base::human_bytes(memory.tensor_bytes));
}

std::string others_advice(const SimulatedMac& mac) {
  return fmt::format(
      "Close what else uses memory: on {} the GPU shares {} with macOS, every app and the data loader's workers. "
      "anymps size counts them.",
      mac.name, base::human_bytes(mac.memory));
}

}  // namespace

std::uint64_t batch_in(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (const std::string_view name : kBatchNames) {
      if (words[i] == name && i + 1 < words.size()) return gpu::support::whole_number(words[i + 1]).value_or(0);
      if (words[i].starts_with(name) && words[i].size() > name.size() && words[i][name.size()] == '=') {
        return gpu::support::whole_number(std::string_view(words[i]).substr(name.size() + 1)).value_or(0);
      }
    }
  }
  return 0;
}

SimulatedMac SimulatedMac::of(const gpu::history::ChosenMac& chosen) {
  if (chosen.mac) {
    return {chosen.mac->name, static_cast<std::uint64_t>(chosen.mac->memory.value),
            static_cast<std::uint64_t>(chosen.mac->working_set(chosen.macos).value)};
  }
  const std::size_t memory = gpu::support::physical_memory();
  return {"a Mac of this machine's size", memory, gpu::history::working_set_for(memory, chosen.macos)};
}

std::string memory_remedies(const trace::RunSummary& run, const SimulatedMac& mac, const base::Terminal& terminal) {
  std::string text;
  std::vector<std::string> advices;
  if (!run.out_of_memory.empty()) {
    text = fmt::format("Out of memory on {}. What people do about it:\n", mac.name);
    advices = {batch_advice(run), limit_advice(run, mac), cache_advice(run), others_advice(mac)};
  } else if (!run.too_large.empty()) {
    text = fmt::format("A buffer of {} is too large for {}. What people do about it:\n",
                       base::human_bytes(run.memory.largest_buffer_bytes), mac.name);
    advices = {batch_advice(run), buffer_advice(mac)};
  }
  const std::size_t width = std::clamp<std::size_t>(terminal.width, 60, 110);
  int number = 0;
  for (const std::string& advice : advices) {
    text += fmt::format("{}. {}", ++number, base::wrapped(advice, width, "   "));
  }
  return text;
}

}  // namespace anymps::lab::size
