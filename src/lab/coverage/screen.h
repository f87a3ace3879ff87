// The operators of PyTorch's releases on MPS, for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/history/operator_history.h"
#include "lab/base/terminal.h"

namespace anymps::lab::coverage {

// "2.7.0, 2.7.1, ..."
std::string known_releases();

// As people write them: "aten::add.Tensor", "torch.linalg.svd", "nn.functional.gelu", "Tensor.add_". Empty for what is
// known by none of these.
std::vector<gpu::history::OperatorHistory> find_operators(std::string_view written);

// Of all operators, the one whose name is nearest.
std::string nearest_operator(std::string_view written);

// "kernel", "composite", "fallback", "refused" or "none", for programs.
std::string_view route_name(gpu::history::OperatorRoute route);

// "refused in 2.7.0 to 2.8.0, a kernel of its own since 2.9.0"
std::string told(const gpu::history::OperatorHistory& history);

// A line for each, with the parts of composites that are missing somewhere.
std::string coverage_screen(std::span<const gpu::history::OperatorHistory> operators, const base::Terminal& terminal);
// {"version", "releases", "operators": {NAME: {RELEASE: ROUTE}}}; a composite is refused where a part of it always is.
nlohmann::json coverage_to_json(std::span<const gpu::history::OperatorHistory> operators);

}  // namespace anymps::lab::coverage
