// torch.mps.profiler's signposts: while they are traced, every operator is in the trace.
#pragma once

#include <string>

namespace anymps::backend::observe {

// With PyTorch's texts for what is wrong with `mode`, a list of "interval" and "event". Both kinds are spans here.
void start_signposts(const std::string& mode);
void stop_signposts();

}  // namespace anymps::backend::observe
