#include "backend/coverage.h"

namespace anymps::backend {
namespace {

using c10::DispatchKey;

constexpr CoveredOperator kTable[] = {
#include "coverage_table.inc"
};

}  // namespace

std::span<const CoveredOperator> covered_operators() { return kTable; }

}  // namespace anymps::backend
