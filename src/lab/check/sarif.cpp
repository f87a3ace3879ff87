#include "lab/check/sarif.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "lab/base/json_text.h"

namespace anymps::lab::check {
namespace {

using nlohmann::json;

constexpr const char* kRoot = "%SRCROOT%";

std::string percent_encoded(std::string_view path) {
  std::string uri;
  for (const char c : path) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 ||
        std::string_view("-._~/").find(c) != std::string_view::npos) {
      uri += c;
    } else {
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return uri;
}

// Relative to the current folder where the file is below it, so that a code host finds it in its own checkout.
json location_of(const trace::SourceSite& site) {
  const std::string file = site.short_file();
  json artifact = {{"uri", file.starts_with('/') ? "file://" + percent_encoded(file) : percent_encoded(file)}};
  if (!file.starts_with('/')) artifact["uriBaseId"] = kRoot;
  json physical = {{"artifactLocation", std::move(artifact)}};
  // Of a notebook the line is one of a cell, not of the file.
  if (site.known() && !site.in_notebook()) physical["region"] = {{"startLine", site.line}};
  return {{"physicalLocation", std::move(physical)}};
}

json rule_to_json(const CheckRule& rule, bool strict) {
  return {{"id", rule.id},
          {"shortDescription", {{"text", rule.title}}},
          {"fullDescription", {{"text", rule.why}}},
          {"help", {{"text", fmt::format("{} {}", rule.why, rule.remedy)}}},
          {"defaultConfiguration", {{"level", severity_name(strict ? rule.strict_severity : rule.severity)}}}};
}

json result_of(const Finding& finding) {
  json result = {{"ruleId", finding.rule->id},
                 {"ruleIndex", finding.rule - check_rules().data()},
                 {"level", severity_name(finding.severity)},
                 {"message", {{"text", message_of(finding)}}},
                 {"occurrenceCount", std::max<std::uint64_t>(finding.count, 1)},
                 {"locations", json::array()}};
  if (!finding.site.file.empty()) result["locations"].push_back(location_of(finding.site));
  return result;
}

}  // namespace

std::string check_sarif(const CheckReport& report) {
  auto rules = json::array();
  for (const CheckRule& rule : check_rules()) rules.push_back(rule_to_json(rule, report.policy.strict));
  auto results = json::array();
  for (const Finding& finding : report.findings) results.push_back(result_of(finding));
  auto notifications = json::array();
  for (const std::string& caveat : report.run.caveats) {
    notifications.push_back({{"level", "warning"}, {"message", {{"text", caveat}}}});
  }
  json invocation = {{"executionSuccessful", !report.command_failed()},
                     {"toolExecutionNotifications", std::move(notifications)}};
  if (report.run.signal != 0) {
    invocation["exitSignalName"] = trace::signal_name(report.run.signal);
  } else {
    invocation["exitCode"] = report.run.status;
  }
  std::error_code unknown;
  const std::string here = std::filesystem::current_path(unknown).string();
  const json whole = {
      {"$schema", "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"},
      {"version", "2.1.0"},
      {"runs",
       {{{"tool", {{"driver", {{"name", "anymps check"}, {"rules", std::move(rules)}}}}},
         {"originalUriBaseIds", {{kRoot, {{"uri", "file://" + percent_encoded(here) + "/"}}}}},
         {"invocations", json::array({std::move(invocation)})},
         {"results", std::move(results)}}}},
  };
  return base::json_pages(whole);
}

}  // namespace anymps::lab::check
