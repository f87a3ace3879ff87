#include "metal/tool/reports_json.h"

namespace anymps::metal::tool {
namespace {

namespace json = llvm::json;

json::Object report_json(const pipeline::ValidationReport& report) {
  json::Object object{{"fault", llvm::StringRef(pipeline::name_of(report.fault))},
                      {"access", report.access},
                      {"argument", json::fixUTF8(report.argument)},
                      {"binding", report.binding},
                      {"thread", json::Array(report.thread)},
                      {"threadgroup", json::Array(report.threadgroup)},
                      {"offset", report.offset},
                      {"size", static_cast<std::int64_t>(report.size)},
                      {"site", report.site},
                      {"place", json::fixUTF8(report.place)},
                      {"count", static_cast<std::int64_t>(report.count)},
                      {"text", json::fixUTF8(report.text)}};
  return object;
}

}  // namespace

json::Array json_of(std::span<const pipeline::ValidationReport> reports) {
  json::Array array;
  for (const pipeline::ValidationReport& report : reports) array.push_back(report_json(report));
  return array;
}

}  // namespace anymps::metal::tool
