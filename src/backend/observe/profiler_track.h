// The device's track in PyTorch's profiler.
#pragma once

namespace anymps::backend::observe {

void register_profiler_track();

}  // namespace anymps::backend::observe
