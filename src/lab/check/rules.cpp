#include "lab/check/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lab/base/text_wrap.h"
#include "lab/base/units.h"

namespace anymps::lab::check {
namespace {

constexpr std::size_t kRulesWidth = 100;

constexpr std::array kSeverityNames = {std::string_view("note"), std::string_view("warning"),
                                       std::string_view("error")};

using enum Severity;
using enum CheckUnit;

constexpr CheckRule kRules[] = {
    {"refused-operator", kError, kNone, "An operator that MPS does not have",
     "On a Mac this call raises NotImplementedError.",
     "Use another operator, call it on a CPU copy, take a release of PyTorch that has it, or set "
     "PYTORCH_ENABLE_MPS_FALLBACK=1 and accept the copies."},
    {"refused-arguments", kError, kNone, "Types or shapes that MPS refuses",
     "MPS has the operator, but not for these arguments; the same error comes on a Mac.",
     "Convert to a type that MPS has, such as float32 or int64, or change the shape."},
    {"fallback-operator", kWarning, kBytes, "An operator that runs on the CPU",
     "Its inputs are copied to the CPU and its results back, and the device waits for both.",
     "Keep it out of the loop, or use operators that MPS has; anymps coverage says since when."},
    {"float64-refused", kError, kNone, "float64 was asked for on the device",
     "MPS has no float64: on a Mac this line raises TypeError.",
     "Ask for torch.float32, or convert before the transfer: numpy arrays are float64 unless told otherwise."},
    {"float64-converted", kNote, kBytes, "Made in float64 on the CPU, then converted for the device",
     "Twice the memory and the time on the CPU for digits that never reach the device.",
     "Make the data in float32 (or complex64) in the first place."},
    {"synchronisation", kWarning, kNanoseconds, "A line in the loop that waits for the device",
     "The CPU stands still until the device has done all queued work, so that the two no longer work at once.",
     "Add up on the device and read the value every so many steps: loss.detach() instead of loss.item()."},
    {"pin-memory", kWarning, kNone, "Pinned memory",
     "A Mac's GPU shares the CPU's memory, and pinning makes no transfer faster: a DataLoader's pin_memory is ignored "
     "there with a warning, and Tensor.pin_memory() copies the data once more.",
     "Leave pin_memory out where the device is mps: pin_memory=(device.type == \"cuda\")."},
    {"non-blocking-to-device", kNote, kBytes, "non_blocking=True to the device, from pageable memory",
     "The data may be changed before it is copied, and from pageable memory little is gained.",
     "Leave non_blocking out, or do not touch the source until the device has been synchronised."},
    {"non-blocking-to-host", kError, kBytes, "non_blocking=True from the device to the CPU",
     "The copy may not have arrived when the next line reads it: on a Mac that line sees old memory, without an error.",
     "Leave non_blocking out, or call torch.mps.synchronize() before reading."},
    {"workers-by-fork", kWarning, kNone, "DataLoader workers by fork",
     "macOS does not support a fork of a process that has used Metal or its frameworks; such workers may crash or "
     "hang.",
     "Leave multiprocessing_context out, or use \"spawn\" or \"forkserver\"."},
    {"workers-without-main-guard", kError, kNone, "DataLoader workers without `if __name__ == \"__main__\"`",
     "A Mac starts workers by spawn; each imports the script again, starts workers of its own, and the run ends with "
     "RuntimeError.",
     "Put what the script does into a function, and call it below if __name__ == \"__main__\":."},
    {"workers-unpicklable", kError, kNone, "DataLoader workers that cannot be given their data set",
     "A Mac starts workers by spawn, which pickles the data set and the functions; this one cannot be pickled.",
     "Replace lambdas and local functions by functions of a module, and open files in the worker."},
    {"lmdb-before-workers", kError, kNone, "An LMDB environment opened before the workers start",
     "It cannot be pickled for a spawned worker, and must not be used across a fork.",
     "Open it in the worker, at the first __getitem__."},
    {"cuda-call", kError, kNone, "A call of torch.cuda that raises on a Mac", "A Mac's PyTorch is built without CUDA.",
     "Call the function of torch.mps, or ask torch.cuda.is_available() first."},
    {"cuda-call-idle", kWarning, kNone, "A call of torch.cuda that does nothing on a Mac",
     "The line passes, and what it was meant for does not happen.",
     "Call the function of torch.mps: torch.mps.empty_cache(), torch.mps.manual_seed()."},
    {"cuda-device", kError, kNone, "device=\"cuda\"", "A Mac's PyTorch is built without CUDA, so this raises.",
     "Choose the device once: \"cuda\" where torch.cuda.is_available(), else \"mps\" where "
     "torch.backends.mps.is_available(), else \"cpu\"."},
    {"cuda-amp", kWarning, kNone, "Autocast for cuda in a run on mps",
     "It is without effect: everything runs in float32.",
     "torch.autocast(device_type=device.type, dtype=torch.float16)."},
    {"scaler-without-device", kWarning, kNone, "GradScaler() without a device",
     "It means cuda, and without CUDA it switches itself off: gradients are not scaled.",
     "torch.amp.GradScaler(device.type)."},
    {"unscale-in-accumulation", kError, kNone, "unscale_() before all gradients are added up",
     "The next backward() adds scaled gradients to unscaled ones.",
     "Call unscale_() once for each optimizer.step(), after the last backward()."},
    {"step-in-accumulation", kError, kNone, "scaler.step() before all gradients are added up",
     "The optimiser steps with a part of the gradients, and the scale changes in the middle of a sum.",
     "Call scaler.step() and scaler.update() after the last backward() of an accumulation."},
    {"nonfinite-gradient", kError, kNone, "The optimiser stepped with gradients that are inf or nan",
     "From here on the weights are inf or nan, and so is everything that is made of them.",
     "Scale the loss (torch.amp.GradScaler), clip the gradients, or lower the learning rate."},
    {"zero-grad-keeps-memory", kNote, kBytes, "zero_grad(set_to_none=False)",
     "Gradients stay allocated between the steps, and are filled with zeros each time.",
     "zero_grad(), which frees them."},
    {"memory-fraction", kWarning, kNone, "A memory fraction of 0, or above 1",
     "0 takes the limit away and above 1 goes beyond what Metal recommends; a Mac then swaps, and may stop answering.",
     "Keep torch.mps.set_per_process_memory_fraction() between 0 and 1, or leave it out."},
    {"watermark", kWarning, kNone, "A watermark that takes the limit away, or that PyTorch refuses",
     "Without a limit a Mac swaps instead of raising, and may stop answering; a high watermark below the low one "
     "raises.",
     "Leave PYTORCH_MPS_HIGH_WATERMARK_RATIO unset, or set the low one as well and below it."},
    {"repeated-copy", kWarning, kBytes, "The same data copied to the device again",
     "The copy costs time and memory, and nothing in it has changed.",
     "Copy once, before the loop, and keep the result."},
    {"round-trip-copy", kWarning, kBytes, "Data that came from the device went back unchanged",
     "Two copies and a wait for nothing.", "Keep it on the device."},
    {"timing-without-synchronize", kWarning, kNone, "A clock is read before the device is done",
     "Calls return as soon as the work is queued, so the difference is the time to queue it.",
     "Call torch.mps.synchronize() before each reading of the clock, or use torch.mps.Event(enable_timing=True)."},
    {"half-size-not-8", kNote, kNone, "A float16 or bfloat16 matrix with a size that is no multiple of 8",
     "Apple's GPUs multiply matrices in blocks of 8x8; what is left over at the edges takes a slower road.",
     "Pad to a multiple of 8, for example the size of the vocabulary."},
    {"noncontiguous-input", kWarning, kNone, "A non-contiguous tensor where MPS has given wrong results",
     "The issue named here is about this operator with such a tensor.",
     "Call .contiguous() first, or take a release of PyTorch in which it is fixed."},
    {"known-mac-failure", kWarning, kNone, "An operator that PyTorch's own tests expect to fail on MPS",
     "With this type its results on a Mac differ from the CPU's, or it raises.",
     "Compare the results on a Mac with those of the CPU, or use float32.", kError},
    {"memory-growth", kWarning, kBytes, "Memory grows with every step",
     "The run ends when memory is used up, on a smaller Mac sooner.",
     "Look for tensors kept in a list or a sum with their graph: keep loss.detach(), or loss.item() every so many "
     "steps. anymps plateau names the lines whose tensors stay."},
    {"memory-fragmentation", kNote, kBytes, "Much more memory is held than tensors ever took",
     "What the cache holds in pieces counts against the limit of the Mac.",
     "Use fewer different sizes (pad batches), and call torch.mps.empty_cache() between phases."},
    {"memory-near-limit", kWarning, kBytes, "The peak is close to what Metal recommends",
     "With another app open, the Mac swaps or the run ends out of memory.",
     "Make the batch smaller, and add up gradients over more steps. anymps size shows all Macs."},
    {"memory-does-not-fit", kError, kBytes, "The run does not fit this Mac", "It ends there out of memory.",
     "Make the batch smaller, use float16, recompute activations (torch.utils.checkpoint), or take a Mac on which it "
     "fits: anymps size."},
    {"out-of-memory", kError, kBytes, "An allocation was refused: not enough memory, or one buffer too large",
     "RuntimeError: MPS backend out of memory.",
     "Make the batch smaller, and add up gradients over more steps. anymps size shows on which Macs it fits."},
    {"environment-unread", kNote, kNone, "A variable that PyTorch does not read",
     "It is set, and nothing comes of it on a Mac.", "Take it out; docs/environment.md lists those that are read."},
    {"environment-unknown", kWarning, kNone, "A variable that nobody knows",
     "Its name looks like one of PyTorch's, and it is none: nothing comes of it.", "Correct the name."},
    {"environment-too-late", kWarning, kNone, "A variable that was set too late",
     "PyTorch read it before the program set it.", "Set it before import torch, or in the shell."},
    {"mac-name", kWarning, kNone, "A name that only anymps has there",
     "On a Mac this raises AttributeError; the subject says the name that both have.", "Use that name."},
    {"mps-not-used", kWarning, kNone, "The program never used mps",
     "torch.backends.mps.is_available() is true here, as on a Mac, and yet nothing ran on the device: what was checked "
     "is "
     "a run on the CPU.",
     "Ask for the device (device=\"mps\"). Where a library decides by the machine, anymps run --platform mac answers "
     "as a "
     "Mac does."},
    {"platform-asked", kNote, kNone, "The program asks Python which machine this is",
     "A Mac answers arm, and this machine does not: what depends on it goes another way here.",
     "Ask torch.backends.mps.is_available() instead, or check with --platform mac."},
    {"notebook-out-keeps", kNote, kBytes, "The notebook's Out keeps a tensor",
     "A cell that ends with a tensor has it kept in Out, and its memory with it.",
     "End the cell with a semicolon or None, or del Out[n]."},
};

}  // namespace

std::span<const CheckRule> check_rules() { return kRules; }

const CheckRule* check_rule(std::string_view id) {
  const auto* const found = std::ranges::find(kRules, id, &CheckRule::id);
  return found != std::end(kRules) ? found : nullptr;
}

std::string_view severity_name(Severity severity) { return kSeverityNames[static_cast<std::size_t>(severity)]; }

std::optional<Severity> severity_from(std::string_view name) {
  const auto* const found = std::ranges::find(kSeverityNames, name);
  if (found == kSeverityNames.end()) return std::nullopt;
  return static_cast<Severity>(found - kSeverityNames.begin());
}

std::string in_unit(CheckUnit unit, std::uint64_t total) {
  if (unit == kNone || total == 0) return {};
  return unit == kBytes ? base::human_bytes(total) : base::human_seconds(static_cast<double>(total) * 1e-9);
}

std::string_view unit_name(CheckUnit unit) {
  switch (unit) {
    case kBytes:
      return "bytes";
    case kNanoseconds:
      return "ns";
    default:
      return "";
  }
}

std::string rules_screen(const base::Terminal& terminal) {
  constexpr std::string_view kIndent = "    ";
  const std::size_t width = std::min(kRulesWidth, terminal.room());
  std::string text;
  for (const CheckRule& rule : kRules) {
    const std::string strict = rule.strict_severity != rule.severity
                                   ? fmt::format(", {} with --strict", severity_name(rule.strict_severity))
                                   : "";
    text += fmt::format("{} ({}{})\n{}", rule.id, severity_name(rule.severity), strict, kIndent);
    text += base::wrapped(fmt::format("{}. {}", rule.title, rule.why), width, kIndent);
    text += fmt::format("{}{}", kIndent, base::wrapped(fmt::format("Do: {}", rule.remedy), width, kIndent));
  }
  return text;
}

}  // namespace anymps::lab::check
