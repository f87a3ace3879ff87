#include "lab/metallib/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "lab/base/safe_text.h"
#include "lab/metallib/batches.h"
#include "lab/metallib/library_file.h"
#include "lab/metallib/reader.h"
#include "lab/metallib/screen.h"

namespace anymps::lab::metallib {
namespace {

constexpr std::size_t kVerifiedPerChild = 100;
constexpr std::size_t kNamesShown = 3;

void add_verified_kernel(MetalVerification& result, const nlohmann::json& kernel) {
  ++result.kernels;
  const auto name = kernel.at("name").get<std::string>();
  if (kernel.contains("refusal")) {
    std::string reason = kernel.at("refusal");
    // Reasons begin with the kernel's name; without it they can be counted.
    if (reason.starts_with(name + ": ")) reason.erase(0, name.size() + 2);
    result.refusals[reason].push_back(name);
    return;
  }
  ++(kernel.at("route") == "thread loop" ? result.thread_loops : result.coroutines);
  result.milliseconds.push_back(kernel.at("ms"));
  result.object_bytes += kernel.at("bytes").get<std::size_t>();
  if (!kernel.contains("simd")) return;
  const auto& simd = kernel.at("simd");
  if (simd.contains("declined")) {
    result.declined[simd.at("declined")].push_back(name);
  } else {
    result.simd_ratios.push_back(simd.at("ms").get<double>() / std::max(kernel.at("ms").get<double>(), 1e-3));
  }
}

class Verifier {
 public:
  Verifier(const std::string& file, const MetalVerifyOptions& options) : file_(file), options_(options) {
    result.simd_asked = options.simd;
  }

  // False where the child gave no answer.
  bool take(std::size_t first, std::size_t count) {
    std::vector<std::string> words = {"verify",
                                      file_,
                                      std::to_string(first),
                                      std::to_string(count),
                                      std::to_string(options_.step),
                                      std::to_string(options_.jobs)};
    if (options_.simd) words.emplace_back("simd");
    const MetalAnswer answer = ask_metal(words);
    result.interrupted = answer.interrupted;
    if (!answer.answered) {
      why_ = answer.text;
      return false;
    }
    const auto found = nlohmann::json::parse(answer.text);
    for (const auto& kernel : found.at("kernels")) add_verified_kernel(result, kernel);
    result.peak_kib = std::max(result.peak_kib, found.at("peak_kib").get<std::size_t>());
    return true;
  }

  void refuse(const std::string& name) {
    ++result.kernels;
    result.refusals[why_].push_back(name);
  }

  MetalVerification result;

 private:
  const std::string& file_;
  const MetalVerifyOptions& options_;
  std::string why_;
};

double at_share(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

}  // namespace

MetalVerification verify_metal(const std::string& source, const MetalVerifyOptions& options,
                               const std::function<void(std::size_t done, std::size_t of)>& progress) {
  const auto began = std::chrono::steady_clock::now();
  const MetalLibraryFile opened(source, options.flags);
  if (opened.problem()) return {.problem = opened.problem()};
  const std::string& file = opened.path();
  const MetalAnswer listed = ask_metal({"list", file});
  if (!listed.answered) return {.problem = listed};
  const auto library = nlohmann::json::parse(listed.text);
  const auto& functions = library.at("functions");
  Verifier verifier(file, options);
  MetalVerification& result = verifier.result;
  go_through({.functions = functions.size(),
              .step = options.step,
              .from = options.from,
              .per_child = kVerifiedPerChild,
              .take = [&](std::size_t first, std::size_t count) { return verifier.take(first, count); },
              .refuse = [&](std::size_t i) { verifier.refuse(functions[i].at("name")); },
              .interrupted = [&] { return result.interrupted; },
              .progress = progress});
  std::ranges::sort(result.milliseconds);
  std::ranges::sort(result.simd_ratios);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return std::move(result);
}

nlohmann::json to_json(const MetalVerification& v) {
  nlohmann::json json = {{"kernels", v.kernels},
                         {"thread_loops", v.thread_loops},
                         {"coroutines", v.coroutines},
                         {"refusals", v.refusals},
                         {"interrupted", v.interrupted},
                         {"median_ms", at_share(v.milliseconds, 0.5)},
                         {"p95_ms", at_share(v.milliseconds, 0.95)},
                         {"max_ms", at_share(v.milliseconds, 1)},
                         {"object_bytes", v.object_bytes},
                         {"peak_kib", v.peak_kib},
                         {"seconds", v.seconds}};
  if (v.simd_asked) {
    json["simd"] = {{"kernels", v.simd_ratios.size()},
                    {"declined", v.declined},
                    {"median_compile_ratio", at_share(v.simd_ratios, 0.5)},
                    {"p95_compile_ratio", at_share(v.simd_ratios, 0.95)}};
  }
  return json;
}

namespace {

// A line for each reason, with the first of the kernels.
std::string reasons(const std::map<std::string, std::vector<std::string>>& by_reason) {
  std::string text;
  for (const auto& [reason, names] : by_reason) {
    text += fmt::format("  {} x {}\n", names.size(), base::on_one_line(reason));
    for (std::size_t i = 0; i < std::min(names.size(), kNamesShown); ++i) {
      text += fmt::format("      {}\n", base::on_one_line(names[i]));
    }
  }
  return text;
}

}  // namespace

std::string to_text(const MetalVerification& v) {
  const std::size_t refused = v.kernels - v.thread_loops - v.coroutines;
  std::string text = fmt::format("kernels      {}\nthread loop  {}\ncoroutines   {}\nrefused      {}\n", v.kernels,
                                 v.thread_loops, v.coroutines, refused);
  text += reasons(v.refusals);
  if (v.simd_asked) {
    text += fmt::format("many lanes   {}, in {:.1f} times as long to compile in the median\n", v.simd_ratios.size(),
                        at_share(v.simd_ratios, 0.5));
    text += fmt::format("declined     {}\n", v.thread_loops + v.coroutines - v.simd_ratios.size());
    text += reasons(v.declined);
  }
  if (v.interrupted) text += "interrupted: the rest was not looked at\n";
  text += fmt::format("compiling    {:.0f} ms in the median, {:.0f} ms at 95%, {:.0f} ms at most\n",
                      at_share(v.milliseconds, 0.5), at_share(v.milliseconds, 0.95), at_share(v.milliseconds, 1));
  text +=
      fmt::format("objects      {:.1f} MiB\nmemory       {:.0f} MiB at most in a process\ntook         {:.0f} s\n",
                  static_cast<double>(v.object_bytes) / (1 << 20), static_cast<double>(v.peak_kib) / 1024, v.seconds);
  return text;
}

}  // namespace anymps::lab::metallib
