// The pipelines of a library: each is made once, by whoever needs it first.
//
// Who asks for kernels in the order of the library, as Inductor does for a graph, is run ahead of: what follows is made
// in the background, the square of how many were asked for in order. Of a library of few kernels all are made once one
// is asked for. Of others no more is made than is asked for.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "metal/pipeline/pipeline.h"
#include "metal/select/engine_selection.h"

namespace anymps::metal::select {

class PipelineCache {
 public:
  // Throws for a kernel that cannot be made. Called from any thread, and maybe after this object is gone.
  using Make = std::function<std::shared_ptr<pipeline::Pipeline>(const std::string& kernel, Engine engine)>;

  PipelineCache(std::vector<std::string> kernels, Make make);

  // Waits for it. Throws what Make throws, each time that it is asked for. Any thread may ask.
  std::shared_ptr<pipeline::Pipeline> get(const std::string& kernel);

 private:
  struct State;

  const std::shared_ptr<State> state_;
};

}  // namespace anymps::metal::select
