#include "lab/runbook/handoff/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "lab/base/json_text.h"
#include "lab/base/text_wrap.h"
#include "lab/base/units.h"

namespace anymps::lab::runbook::handoff {
namespace {

using nlohmann::json;

constexpr std::size_t kHandoffLabelWidth = 12;
constexpr std::size_t kMostData = 20;

class Lines {
 public:
  explicit Lines(const base::Terminal& terminal) : terminal_(terminal) {}

  void line(std::string_view label, std::string_view text, std::string_view code = "") {
    text_ += terminal_.paint(base::kBold, fmt::format("{:<{}}", label, kHandoffLabelWidth)) +
             terminal_.paint(code, text) + "\n";
  }
  void prose(std::string_view label, std::string_view text, std::string_view code = "") {
    const std::string whole = fmt::format("{:<{}}{}", label, kHandoffLabelWidth, text);
    text_ += terminal_.paint(code, base::wrapped(whole, std::clamp<std::size_t>(terminal_.width, 60, 110),
                                                 std::string(kHandoffLabelWidth, ' ')));
  }
  void plain(std::string_view text, std::string_view code = "") { text_ += terminal_.paint(code, text) + "\n"; }
  std::string take() { return std::move(text_); }

 private:
  const base::Terminal& terminal_;
  std::string text_;
};

std::string harmless_text(const json& value) {
  if (value.is_null()) return "-";
  std::string text = value.is_string() ? value.get<std::string>() : base::json_line(value);
  // A bundle's texts are a stranger's: nothing in them moves the cursor.
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return text;
}

std::string joined(const json& words) {
  std::string text;
  for (const json& word : words) text += (text.empty() ? "" : " ") + harmless_text(word);
  return text;
}

void add_notes(Lines& lines, const json& document) {
  for (const json& note : document.value("notes", json::array())) lines.prose("note", harmless_text(note), base::kDim);
}

void add_golden(Lines& lines, const json& golden) {
  lines.prose("command", joined(golden.value("given", json::array())));
  lines.line("owner", fmt::format("{}, {}", harmless_text(golden.value("owner", json())),
                                  harmless_text(golden.value("date", json()))));
}

void add_differences(Lines& lines, const json& differences) {
  std::size_t data = 0;
  for (const json& one : differences) {
    if (one["kind"] == "data" && ++data > kMostData) continue;
    const std::string_view code = one["severity"] == "red" ? base::kRed : base::kYellow;
    lines.plain(fmt::format("{} {}: {}", one["severity"] == "red" ? "!" : "?", harmless_text(one["kind"]),
                            harmless_text(one["name"])),
                code);
    lines.plain("  - " + harmless_text(one["there"]), base::kDim);
    lines.plain("  + " + harmless_text(one["here"]), code);
  }
  if (data > kMostData) lines.plain(fmt::format("... and {} more files of the data set", data - kMostData), base::kRed);
}

std::size_t count_of(const json& differences, const char* severity) {
  return static_cast<std::size_t>(
      std::ranges::count_if(differences, [&](const json& one) { return one["severity"] == severity; }));
}

}  // namespace

std::string pack_screen(const json& document, const base::Terminal& terminal) {
  Lines lines(terminal);
  lines.line("bundle",
             fmt::format("{}, {} of {} in {} files", harmless_text(document["bundle"]),
                         base::human_bytes(document.value("archive_bytes", std::uint64_t{0})),
                         base::human_bytes(document.value("bytes", std::uint64_t{0})), document.value("files", 0)));
  lines.line("sha256", harmless_text(document["sha256"]));
  add_golden(lines, document["golden"]);
  lines.line("lockfiles", joined(document["lockfiles"]));
  if (const json& data = document["data"]; data.is_object()) {
    lines.line("data", fmt::format("{} files, {}{}", data.value("files", 0),
                                   base::human_bytes(data.value("bytes", std::uint64_t{0})),
                                   data.value("packed", false) ? "" : "; by their checksums, not packed"));
  }
  for (const json& one : document["left_out"]) {
    lines.line("left out", fmt::format("{}: {}", harmless_text(one["path"]), harmless_text(one["why"])), base::kYellow);
  }
  for (const json& name : document["withheld"]) {
    lines.line("left out", fmt::format("the value of {}, which looks like a secret", harmless_text(name)),
               base::kYellow);
  }
  add_notes(lines, document);
  lines.line("", "The sha256 stands for all of it: give it to the other side by another way than the bundle.",
             base::kDim);
  return lines.take();
}

std::string verify_screen(const json& document, const base::Terminal& terminal) {
  Lines lines(terminal);
  const json& differences = document["differences"];
  lines.line("bundle",
             fmt::format("{}, whole, {} files", harmless_text(document["bundle"]), document.value("files", 0)));
  lines.line("sha256", harmless_text(document["sha256"]));
  add_golden(lines, document["golden"]);
  if (!document["into"].is_null()) lines.line("unpacked", "into " + harmless_text(document["into"]));
  if (!differences.empty()) lines.plain("\n- in the bundle, + here", base::kDim);
  add_differences(lines, differences);
  if (!differences.empty()) lines.plain("");
  const std::size_t red = count_of(differences, "red");
  lines.line("verdict",
             red == 0
                 ? fmt::format("good: nothing differs that matters ({} that may)", count_of(differences, "yellow"))
                 : fmt::format("bad: {} differences that matter, {} that may", red, count_of(differences, "yellow")),
             red == 0 ? base::kGreen : base::kRed);
  add_notes(lines, document);
  return lines.take();
}

std::string smoke_screen(const json& document, const base::Terminal& terminal) {
  Lines lines(terminal);
  const json& figures = document["figures"];
  const json& plateau = document["plateau"];
  const json& platform = document["environment"]["platform"];
  lines.line("host", fmt::format("{}, {} there and back", harmless_text(document["host"]),
                                 base::human_seconds(document.value("rtt_seconds", 0.0))));
  lines.line(
      "",
      fmt::format("{} {}, {} {}, {} cores, {}", harmless_text(platform["system"]), harmless_text(platform["release"]),
                  harmless_text(platform["machine"]), harmless_text(platform["cpu"]), harmless_text(platform["cores"]),
                  base::human_bytes(platform.value("memory_bytes", std::uint64_t{0}))),
      base::kDim);
  lines.line("bundle", fmt::format("{} {}", document.value("copied", false) ? "copied to" : "was there already, in",
                                   harmless_text(document["folder"])));
  add_golden(lines, document["golden"]);
  lines.line("speed",
             fmt::format("{:.2f} steps/s over {} steps; input takes {:.0f}%", figures.value("steps_per_second", 0.0),
                         figures.value("steps", 0), 100 * figures.value("input_share", 0.0)));
  if (document["speed_ratio"].is_number()) {
    lines.line("", fmt::format("{:.2f} times as fast as run {} here", document["speed_ratio"].get<double>(),
                               harmless_text(document["local"]["run"])));
  }
  for (const json& cause : document["explanation"]) lines.prose("because", harmless_text(cause["text"]), base::kYellow);
  lines.line("memory", fmt::format("peak {}", base::human_bytes(figures.value("peak_bytes", std::uint64_t{0}))));
  if (plateau["holds"].is_boolean()) {
    const bool holds = plateau["holds"].get<bool>();
    lines.line("plateau",
               fmt::format("{}: {:+.1f}% over {} epochs ({:.0f}% are allowed)", holds ? "holds" : "does not hold",
                           100 * plateau["rise_share"].get<double>(), plateau["epochs"].size(),
                           100 * plateau["threshold"].get<double>()),
               holds ? base::kGreen : base::kRed);
  }
  if (const json& differences = document["differences"]; !differences.empty()) {
    lines.plain("\n- in the bundle, + there", base::kDim);
    add_differences(lines, differences);
  }
  add_notes(lines, document);
  return lines.take();
}

}  // namespace anymps::lab::runbook::handoff
