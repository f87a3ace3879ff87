#include "backend/dispatch/coverage.h"

namespace anymps::backend::dispatch {
namespace {

using c10::DispatchKey;

constexpr CoveredOperator kCoverageTable[] = {
#include "coverage_table.inc"
};

}  // namespace

std::span<const CoveredOperator> covered_operators() { return kCoverageTable; }

}  // namespace anymps::backend::dispatch
