// Lines that wait for the device again and again while a program trains or predicts.
#pragma once

#include <vector>

#include "lab/check/findings.h"
#include "lab/trace/reader.h"

namespace anymps::lab::check {

// A line that waited at least eight times, and in at least one of four steps. Where a line waited between two steps
// only, however often (a checkpoint copies every tensor), it is one wait.
std::vector<Finding> wait_findings(const std::vector<trace::TraceFile>& traces);

}  // namespace anymps::lab::check
