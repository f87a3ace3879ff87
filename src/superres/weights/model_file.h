// A network with its weights, in a file.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "superres/network.h"
#include "superres/weights.h"

namespace anymps::superres {

// The network's parameters and buffers under `prefix`, on the CPU.
void put_network(const Network& network, const std::string& prefix, Weights& weights);
// Throws WeightsError that names the first tensor that is missing or of another shape.
void take_network(const Weights& weights, const std::string& prefix, Network& network);

// Those whose names and shapes are the network's, and the number of the network's own that stay as they are.
std::size_t take_matching(const Weights& weights, Network& network);

// What network these weights are of, told by their names and shapes. Throws WeightsError where it is none of ours.
NetworkOptions recognised(const Weights& weights);

// Throws WeightsError, with the file's name, for whatever is wrong.
std::shared_ptr<Network> load_model(const std::filesystem::path& path, NetworkOptions& options);

}  // namespace anymps::superres
