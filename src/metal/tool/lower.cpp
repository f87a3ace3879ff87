#include "metal/tool/lower.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/Format.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "metal/air/module.h"
#include "metal/engine/compiler.h"
#include "metal/support/host_target.h"
#include "metal/tool/request_error.h"

namespace anymps::metal::tool {
namespace {

using lower::support::Pass;
using Clock = std::chrono::steady_clock;

struct LowerOptions {
  lower::LoweringOptions lowering;
  std::optional<Pass> stop_after;
  std::optional<Pass> print_after;
  bool print_all = false;
  bool time_passes = false;
};

Pass pass_of(std::string_view name) {
  const auto pass = lower::support::pass_named(name);
  if (!pass) throw RequestError("there is no pass " + std::string(name));
  return *pass;
}

LowerOptions options_of(std::span<const std::string> words) {
  constexpr std::string_view kStopAfter = "stop-after=";
  constexpr std::string_view kPrintAfter = "print-after=";
  LowerOptions options;
  for (const std::string_view word : words) {
    if (word == "simd") {
      options.lowering.simdgroups = lower::vectorize::Simdgroups::kWhole;
    } else if (word == "coroutines") {
      options.lowering.force_coroutines = true;
    } else if (word == "validate") {
      options.lowering.validate = true;
    } else if (word == "time-passes") {
      options.time_passes = true;
    } else if (word.starts_with(kStopAfter)) {
      options.stop_after = pass_of(word.substr(kStopAfter.size()));
    } else if (word == "print-after=all") {
      options.print_all = true;
    } else if (word.starts_with(kPrintAfter)) {
      options.print_after = pass_of(word.substr(kPrintAfter.size()));
    } else {
      throw RequestError("lowering has no option " + std::string(word));
    }
  }
  return options;
}

class Printer final : public lower::support::PassInstrumentation {
 public:
  Printer(const LowerOptions& options, llvm::raw_ostream& out) : options_(options), out_(out) {}

  void before(Pass /*pass*/) override { running_.push_back({.began = Clock::now()}); }

  bool after(Pass pass, const llvm::Module& module) override {
    const Running done = running_.back();
    running_.pop_back();
    const Clock::duration took = Clock::now() - done.began;
    // A pass that runs others is charged for its own work.
    times_[static_cast<std::size_t>(pass)] += took - done.within;
    seen_[static_cast<std::size_t>(pass)] = true;
    if (options_.print_all || options_.print_after == pass) print(pass, module);
    if (!running_.empty()) running_.back().within += Clock::now() - done.began;  // with the printing
    return options_.stop_after != pass;
  }

  bool has_seen(Pass pass) const { return seen_[static_cast<std::size_t>(pass)]; }

  void print_times() const {
    Clock::duration all{};
    for (const Clock::duration time : times_) all += time;
    out_ << "\n; milliseconds, share, pass\n";
    for (std::size_t i = 0; i < times_.size(); ++i) {
      if (!seen_[i]) continue;
      const double share = all.count() == 0 ? 0 : 100.0 * static_cast<double>(times_[i].count()) / all.count();
      out_ << "; " << llvm::format("%9.3f  %5.1f%%  ", milliseconds(times_[i]), share)
           << lower::support::kPasses[i].name << "\n";
    }
    out_ << "; " << llvm::format("%9.3f  100.0%%  all", milliseconds(all)) << "\n";
  }

 private:
  struct Running {
    Clock::time_point began;
    Clock::duration within{};  // what passes took that ran within this one
  };

  static double milliseconds(Clock::duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

  void print(Pass pass, const llvm::Module& module) {
    out_ << "; *** IR after " << lower::support::name_of(pass) << " ***\n";
    module.print(out_, nullptr);
    out_ << "\n";
  }

  const LowerOptions& options_;
  llvm::raw_ostream& out_;
  std::vector<Running> running_;
  std::array<Clock::duration, lower::support::kPasses.size()> times_{};
  std::array<bool, lower::support::kPasses.size()> seen_{};
};

}  // namespace

std::string lowered_text(const library::FunctionEntry& function, std::span<const std::string> words) {
  const LowerOptions options = options_of(words);
  std::string text;
  llvm::raw_string_ostream out(text);
  Printer printer(options, out);
  llvm::LLVMContext context;
  const std::unique_ptr<llvm::Module> module = air::read_module(context, function.bitcode, function.name);
  const auto target = llvm::cantFail(metal::support::host_target().createTargetMachine());
  std::string not_vectorized;
  try {
    not_vectorized = engine::lower_module(*module, function.name, options.lowering, *target, &printer).not_vectorized;
  } catch (const lower::support::LoweringStopped&) {
    // Wanted: the module is as the pass left it.
  }
  for (const auto& pass : {options.stop_after, options.print_after}) {
    if (!pass || printer.has_seen(*pass)) continue;
    const std::string why = not_vectorized.empty() ? "" : "; it cannot be vectorised: " + not_vectorized;
    throw RequestError(function.name + " does not come to the pass " + std::string(lower::support::name_of(*pass)) +
                       why);
  }
  if (!not_vectorized.empty()) out << "; it cannot be vectorised: " << not_vectorized << "\n";
  if (!options.print_all && !options.print_after) module->print(out, nullptr);
  if (options.time_passes) printer.print_times();
  return text;
}

}  // namespace anymps::metal::tool
