#include "lab/metallib/capture_replay.h"

#include <fmt/format.h>

#include <algorithm>

#include "lab/base/safe_text.h"
#include "lab/metallib/batches.h"
#include "lab/metallib/run_screen.h"
#include "lab/metallib/screen.h"

namespace anymps::lab::metallib {
namespace {

constexpr std::size_t kLaunchesPerChild = 20;

void add_launch(CaptureReplay& result, nlohmann::json launch) {
  if (launch.contains("refusal")) {
    ++result.refusals;
  } else {
    const auto outcome = launch.at("outcome").get<std::string>();
    ++(outcome == "equal"     ? result.equal
       : outcome == "close"   ? result.close
       : outcome == "differs" ? result.differing
                              : result.not_compared);
    result.reports += launch.at("reports").size();
  }
  result.launches.push_back(std::move(launch));
}

// Those that are asked for, of the launches that the capture holds; an answer that says why there are none.
std::optional<MetalAnswer> choose(const ReplayRequest& request, const nlohmann::json& held,
                                  std::vector<std::size_t>& chosen) {
  for (const std::size_t number : request.launches) {
    if (number < held.size()) continue;
    return MetalAnswer{.text = fmt::format("{}: there is no launch {}; it has {}, counted from 0", request.folder,
                                           number, held.size()),
                       .refused = true};
  }
  for (std::size_t i = 0; i < held.size(); ++i) {
    if (!request.launches.empty() && std::ranges::find(request.launches, i) == request.launches.end()) continue;
    if (!request.kernel.empty() && held[i].at("kernel") != request.kernel) continue;
    chosen.push_back(i);
  }
  if (!chosen.empty() || (held.empty() && request.kernel.empty())) return std::nullopt;
  return MetalAnswer{.text = fmt::format("{}: no launch of it is of a kernel `{}` (see --list)", request.folder,
                                         base::on_one_line(request.kernel)),
                     .refused = true};
}

std::string launch_extent(const nlohmann::json& size) {
  return fmt::format("{}x{}x{}", size[0].get<unsigned>(), size[1].get<unsigned>(), size[2].get<unsigned>());
}

std::string heading_of(const nlohmann::json& launch) {
  return fmt::format("{:>5}  {}  {} threads in groups of {}", launch.at("launch").get<std::size_t>(),
                     base::on_one_line(launch.at("kernel").get<std::string>()), launch_extent(launch.at("threads")),
                     launch_extent(launch.at("group")));
}

std::string difference_of(const nlohmann::json& buffer) {
  const auto name = buffer.at("name").get<std::string>();
  return fmt::format(
      "         {}: {} of {} {} differ, by {} at most; the first at {}: was {}, is {}\n",
      name.empty() ? fmt::format("buffer {}", buffer.at("buffer").get<std::size_t>()) : base::on_one_line(name),
      buffer.at("differing").get<std::size_t>(), buffer.at("count").get<std::size_t>(),
      buffer.at("type").get<std::string>(), buffer.at("largest").dump(), buffer.at("first").get<std::size_t>(),
      buffer.at("was").dump(), buffer.at("is").dump());
}

std::string launch_block(const nlohmann::json& launch) {
  std::string text = heading_of(launch) + ": ";
  if (launch.contains("refusal"))
    return text + "refused: " + base::on_one_line(launch.at("refusal").get<std::string>()) + "\n";
  text += fmt::format("{} ({:.3f} ms)\n", launch.at("outcome").get<std::string>(), launch.at("ms").get<double>());
  for (const auto& buffer : launch.at("buffers")) text += difference_of(buffer);
  return text + report_texts(launch.at("reports"));
}

}  // namespace

CaptureReplay replay_capture(const ReplayRequest& request,
                             const std::function<void(std::size_t done, std::size_t of)>& progress) {
  CaptureReplay result;
  result.folder = request.folder;
  const MetalAnswer listed = ask_metal({"capture", request.folder});
  if (!listed.answered) {
    result.problem = listed;
    return result;
  }
  const auto capture = nlohmann::json::parse(listed.text);
  const auto& held = capture.at("launches");
  std::vector<std::size_t> chosen;
  result.problem = choose(request, held, chosen);
  if (result.problem) return result;
  std::string why;
  const auto take = [&](std::size_t first, std::size_t count) {
    std::vector<std::string> words = {"replay", request.folder};
    if (request.validate) words.emplace_back("validate");
    if (request.from_source) words.emplace_back("source");
    words.push_back(fmt::format("tolerance={}", request.tolerance));
    for (std::size_t i = first; i < first + count; ++i) words.push_back(std::to_string(chosen[i]));
    const MetalAnswer answer = ask_metal(words);
    result.interrupted = answer.interrupted;
    why = answer.text;
    if (!answer.answered) return false;
    auto replayed = nlohmann::json::parse(answer.text);
    for (auto& launch : replayed.at("launches")) add_launch(result, std::move(launch));
    return true;
  };
  const auto refuse = [&](std::size_t i) {
    nlohmann::json launch = held[chosen[i]];
    launch["refusal"] = why;
    add_launch(result, std::move(launch));
  };
  go_through({.functions = chosen.size(),
              .per_child = kLaunchesPerChild,
              .take = take,
              .refuse = refuse,
              .interrupted = [&] { return result.interrupted; },
              .progress = progress});
  return result;
}

nlohmann::json to_json(const CaptureReplay& replay) {
  return {{"version", 1},
          {"capture", replay.folder},
          {"launches", replay.launches},
          {"equal", replay.equal},
          {"close", replay.close},
          {"differing", replay.differing},
          {"not_compared", replay.not_compared},
          {"refusals", replay.refusals},
          {"reports", replay.reports},
          {"interrupted", replay.interrupted}};
}

std::string to_text(const CaptureReplay& replay) {
  std::string text;
  for (const auto& launch : replay.launches) text += launch_block(launch);
  text += fmt::format("{}: {} launches: {} equal, {} close, {} differ, {} not compared, {} refused\n",
                      base::on_one_line(replay.folder), replay.launches.size(), replay.equal, replay.close,
                      replay.differing, replay.not_compared, replay.refusals);
  if (replay.interrupted) text += "interrupted: the rest was not replayed\n";
  return text;
}

std::string capture_screen(const nlohmann::json& capture) {
  std::string text;
  for (const auto& launch : capture.at("launches")) {
    const auto& took = launch.at("captured_ms");
    text += heading_of(launch) + fmt::format(", {} bytes: ", launch.at("bytes").get<std::size_t>()) +
            (took.is_null() ? "did not end" : fmt::format("{:.3f} ms", took.get<double>())) + "\n";
  }
  text += fmt::format("{} launches", capture.at("launches").size());
  if (!capture.value("complete", false)) text += "; the capture was not ended";
  text += "\n";
  const auto operators = capture.find("operators");
  if (operators == capture.end() || operators->empty()) return text;
  text += "beside them ran, as kernels of this machine that no capture can hold:\n";
  for (const auto& ran : *operators) {
    text += fmt::format("  {:>6} x {}  {:.3f} ms\n", ran.at("count").get<std::size_t>(),
                        base::on_one_line(ran.at("name").get<std::string>()), ran.at("ms").get<double>());
  }
  return text;
}

}  // namespace anymps::lab::metallib
