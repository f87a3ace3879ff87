#include "lab/runbook/handoff/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/base/json_text.h"
#include "lab/base/text_wrap.h"
#include "lab/base/units.h"

namespace anymps::lab::runbook::handoff {
namespace {

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

// A bundle's texts are a stranger's: nothing in them moves the cursor.
std::string harmless_text(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return text;
}

std::string harmless_text(const std::optional<std::string>& text) { return text ? harmless_text(*text) : "-"; }

std::string harmless_value(const nlohmann::json& value) {
  return value.is_null() ? "-" : harmless_text(base::unquoted_json(value));
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + harmless_text(word);
  return text;
}

void add_notes(Lines& lines, const std::vector<std::string>& notes) {
  for (const std::string& note : notes) lines.prose("note", harmless_text(note), base::kDim);
}

void add_golden(Lines& lines, const Golden& golden) {
  lines.prose("command", joined(golden.given));
  lines.line("owner", fmt::format("{}, {}", harmless_text(golden.owner), harmless_text(golden.date)));
}

void add_differences(Lines& lines, const std::vector<Difference>& differences) {
  std::size_t data = 0;
  for (const Difference& one : differences) {
    if (one.kind == DifferenceKind::kData && ++data > kMostData) continue;
    const bool is_red = one.severity == Severity::kRed;
    const std::string_view code = is_red ? base::kRed : base::kYellow;
    lines.plain(fmt::format("{} {}: {}", is_red ? "!" : "?", document::word_of(one.kind), harmless_text(one.name)),
                code);
    lines.plain("  - " + harmless_value(one.there), base::kDim);
    lines.plain("  + " + harmless_value(one.here), code);
  }
  if (data > kMostData) lines.plain(fmt::format("... and {} more files of the data set", data - kMostData), base::kRed);
}

std::size_t count_of(const std::vector<Difference>& differences, Severity severity) {
  return static_cast<std::size_t>(std::ranges::count(differences, severity, &Difference::severity));
}

void add_speed(Lines& lines, const SmokeDocument& document) {
  const WindowFigures& figures = document.figures;
  lines.line("speed",
             fmt::format("{:.2f} steps/s over {} steps; input takes {:.0f}%", figures.steps_per_second.value_or(0),
                         figures.steps, 100 * figures.input_share.value_or(0)));
  if (document.speed_ratio) {
    lines.line("", fmt::format("{:.2f} times as fast as run {} here", *document.speed_ratio,
                               document.local ? std::to_string(document.local->run) : "-"));
  }
  for (const SpeedCause& cause : document.explanation) lines.prose("because", harmless_text(cause.text), base::kYellow);
}

void add_memory(Lines& lines, const SmokeDocument& document) {
  lines.line("memory", fmt::format("peak {}", base::human_bytes(document.figures.peak_bytes.value_or(0))));
  const SmokePlateau& plateau = document.plateau;
  if (!plateau.holds) return;
  lines.line("plateau",
             fmt::format("{}: {:+.1f}% over {} epochs ({:.0f}% are allowed)",
                         *plateau.holds ? "holds" : "does not hold", 100 * plateau.curve.rise_share.value_or(0),
                         plateau.curve.epochs.size(), 100 * plateau.curve.threshold.value_or(0)),
             *plateau.holds ? base::kGreen : base::kRed);
}

std::string platform_text(const HostPlatform& platform) {
  return fmt::format("{} {}, {} {}, {} cores, {}", harmless_text(platform.system), harmless_text(platform.release),
                     harmless_text(platform.machine), harmless_text(platform.cpu),
                     platform.cores ? std::to_string(*platform.cores) : "-",
                     base::human_bytes(platform.memory_bytes.value_or(0)));
}

}  // namespace

std::string pack_screen(const PackDocument& document, const base::Terminal& terminal) {
  Lines lines(terminal);
  lines.line("bundle",
             fmt::format("{}, {} of {} in {} files", harmless_text(document.bundle),
                         base::human_bytes(document.archive_bytes), base::human_bytes(document.bytes), document.files));
  lines.line("sha256", harmless_text(document.sha256));
  add_golden(lines, document.golden);
  lines.line("lockfiles", joined(document.lockfiles));
  if (document.data) {
    lines.line("data", fmt::format("{} files, {}{}", document.data->files, base::human_bytes(document.data->bytes),
                                   document.data->packed ? "" : "; by their checksums, not packed"));
  }
  for (const LeftOut& one : document.left_out) {
    lines.line("left out", fmt::format("{}: {}", harmless_text(one.path), harmless_text(one.why)), base::kYellow);
  }
  for (const std::string& name : document.withheld) {
    lines.line("left out", fmt::format("the value of {}, which looks like a secret", harmless_text(name)),
               base::kYellow);
  }
  add_notes(lines, document.notes);
  lines.line("", "The sha256 stands for all of it: give it to the other side by another way than the bundle.",
             base::kDim);
  return lines.take();
}

std::string verify_screen(const VerifyDocument& document, const base::Terminal& terminal) {
  Lines lines(terminal);
  lines.line("bundle", fmt::format("{}, whole, {} files", harmless_text(document.bundle), document.files));
  lines.line("sha256", harmless_text(document.sha256));
  add_golden(lines, document.golden);
  if (document.into) lines.line("unpacked", "into " + harmless_text(*document.into));
  if (!document.differences.empty()) lines.plain("\n- in the bundle, + here", base::kDim);
  add_differences(lines, document.differences);
  if (!document.differences.empty()) lines.plain("");
  const std::size_t red = count_of(document.differences, Severity::kRed);
  const std::size_t yellow = count_of(document.differences, Severity::kYellow);
  lines.line("verdict",
             red == 0 ? fmt::format("good: nothing differs that matters ({} that may)", yellow)
                      : fmt::format("bad: {} differences that matter, {} that may", red, yellow),
             red == 0 ? base::kGreen : base::kRed);
  add_notes(lines, document.notes);
  return lines.take();
}

std::string smoke_screen(const SmokeDocument& document, const base::Terminal& terminal) {
  Lines lines(terminal);
  lines.line("host", fmt::format("{}, {} there and back", harmless_text(document.host),
                                 base::human_seconds(document.rtt_seconds)));
  lines.line("", platform_text(document.environment.platform), base::kDim);
  lines.line("bundle", fmt::format("{} {}", document.copied ? "copied to" : "was there already, in",
                                   harmless_text(document.folder)));
  add_golden(lines, document.golden);
  add_speed(lines, document);
  add_memory(lines, document);
  if (!document.differences.empty()) {
    lines.plain("\n- in the bundle, + there", base::kDim);
    add_differences(lines, document.differences);
  }
  add_notes(lines, document.notes);
  return lines.take();
}

}  // namespace anymps::lab::runbook::handoff
