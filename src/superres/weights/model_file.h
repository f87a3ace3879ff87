// A network with its weights, in a file.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "superres/networks/network.h"
#include "superres/weights/weights.h"

namespace anymps::superres::weights {

// The network's parameters and buffers under `prefix`, on the CPU.
void put_network(const networks::Network& network, const std::string& prefix, Weights& weights);
// Throws WeightsError that names the first tensor that is missing or of another shape.
void take_network(const Weights& weights, const std::string& prefix, networks::Network& network);

// Those whose names and shapes are the network's, and the number of the network's own that stay as they are.
std::size_t take_matching(const Weights& weights, networks::Network& network);

// What network these weights are of, told by their names and shapes. Throws WeightsError where it is none of ours.
networks::NetworkOptions recognised(const Weights& weights);

// Throws WeightsError, with the file's name, for whatever is wrong.
std::shared_ptr<networks::Network> load_model(const std::filesystem::path& path, networks::NetworkOptions& options);

}  // namespace anymps::superres::weights
