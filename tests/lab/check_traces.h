// Traces of programs with faults, for the tests of what finds them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "lab/check/findings.h"
#include "lab/trace/reader.h"

namespace anymps::lab {

inline trace::TraceTally check_tally(gpu::trace::TraceKind kind, std::string name, std::string site,
                                     std::uint64_t count = 1, std::uint64_t total = 0) {
  trace::TraceTally row;
  row.kind = kind;
  row.name = std::move(name);
  row.site = std::move(site);
  row.count = count;
  row.total = total;
  return row;
}

// A process whose tensors took that many bytes at the end of each step.
inline trace::TraceFile stepping(std::size_t steps, const std::function<std::uint64_t(std::size_t)>& bytes,
                                 gpu::trace::TraceKind kind = gpu::trace::TraceKind::kStep) {
  trace::TraceFile trace;
  trace.pid = 1;
  trace.tallies.push_back(check_tally(kind, "SGD", "train.py:9", steps));
  for (std::size_t i = 0; i < steps; ++i) {
    trace::TraceRecord record;
    record.index = i;
    record.kind = kind;
    record.thread = 1;
    record.name = "SGD";
    record.site = "train.py:9";
    record.a = i;
    record.c = bytes(i);
    trace.records.push_back(record);
  }
  return trace;
}

inline const check::Finding* find_rule(const std::vector<check::Finding>& findings, std::string_view rule) {
  for (const check::Finding& finding : findings) {
    if (finding.rule->id == rule) return &finding;
  }
  return nullptr;
}

}  // namespace anymps::lab
