// Files of torch.save.
#pragma once

#include <string>

#include "superres/weights/weights.h"

namespace anymps::superres::weights {

// Dictionaries of any class, parameters and checkpoints of the community's trainers are read; what else they hold is
// passed over, and nothing of it is executed. Throws WeightsError without the file's name.
Weights from_torch_file(const std::string& bytes);

// What torch.save of a dictionary of these tensors writes; torch.load takes it with weights_only.
std::string to_torch_file(const Weights& weights);

}  // namespace anymps::superres::weights
