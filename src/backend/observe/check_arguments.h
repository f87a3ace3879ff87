// What the arguments of an operator call tell before it runs: shapes, layouts and types that go wrong on a Mac.
#pragma once

namespace at {
struct RecordFunction;
}

namespace anymps::backend::observe {

void check_arguments(const at::RecordFunction& function);

}  // namespace anymps::backend::observe
