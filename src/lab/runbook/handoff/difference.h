// A difference between the host that a bundle was made on and another one.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "lab/runbook/document/enum_words.h"

namespace anymps::lab::runbook::handoff {

enum class Severity {
  kYellow,  // it may change results or speed
  kRed,     // it does
};

constexpr document::EnumWord<Severity> kSeverityWords[] = {{Severity::kYellow, "yellow"}, {Severity::kRed, "red"}};
constexpr std::span<const document::EnumWord<Severity>> words_of(Severity /*value*/) { return kSeverityWords; }

enum class DifferenceKind {
  kPlatform,
  kPython,
  kPackage,
  kPackageFiles,  // the same version, and yet other contents
  kTorchBuild,
  kVariable,
  kCacheMount,
  kData,
};

constexpr document::EnumWord<DifferenceKind> kDifferenceKindWords[] = {
    {DifferenceKind::kPlatform, "platform"},      {DifferenceKind::kPython, "python"},
    {DifferenceKind::kPackage, "package"},        {DifferenceKind::kPackageFiles, "files of package"},
    {DifferenceKind::kTorchBuild, "torch build"}, {DifferenceKind::kVariable, "variable"},
    {DifferenceKind::kCacheMount, "cache mount"}, {DifferenceKind::kData, "data"}};
constexpr std::span<const document::EnumWord<DifferenceKind>> words_of(DifferenceKind /*value*/) {
  return kDifferenceKindWords;
}

struct Difference {
  DifferenceKind kind = DifferenceKind::kPlatform;
  std::string name;
  nlohmann::json here;   // a text or a number; null: there is none
  nlohmann::json there;  // of the bundle
  Severity severity = Severity::kRed;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("kind", self.kind);
    fields("name", self.name);
    fields("here", self.here);
    fields("there", self.there);
    fields("severity", self.severity);
  }
};

}  // namespace anymps::lab::runbook::handoff
