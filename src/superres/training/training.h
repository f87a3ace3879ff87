// Training a network on a database of pairs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "superres/files/folder_lock.h"
#include "superres/files/store.h"
#include "superres/networks/network.h"
#include "superres/training/batches.h"
#include "superres/training/device_policy.h"

namespace torch::optim {
class Optimizer;
}

namespace anymps::superres::training {

struct TrainingOptions {
  networks::NetworkOptions network;
  BatchOptions data;
  std::uint64_t steps = 1000;
  std::uint64_t seed = 0;
  std::string init;                // a file of weights to begin with
  std::string optimizer = "adam";  // or "adamw"
  double learning_rate = 5e-4;
  double last_learning_rate = 1e-6;  // where the cosine ends
  std::uint64_t warm_up = 0;         // steps in which the rate rises to its full height
  double weight_decay = 0;
  double ema = 0.999;            // share of the average that each step keeps; 0: no average
  double clip = 1;               // the gradients' norm at most; 0: as they are
  int accumulate = 1;            // batches for a step
  double frequency = 0;          // weight of the frequency loss beside L1
  std::uint64_t validation = 8;  // pairs at the beginning of the database that are not trained on
  std::uint64_t validate_every = 200;
  std::uint64_t checkpoint_every = 200;

  // Throws std::invalid_argument with a line about what cannot be.
  void check() const;
  nlohmann::json to_json() const;
  // On top of what is there already; a name that is not known is refused with std::invalid_argument.
  void update(const nlohmann::json& json);
};

struct Validation {
  double psnr = 0;
  double ssim = 0;
  double bicubic_psnr = 0;  // of the same pictures, enlarged without a network
};

// Told after each step.
struct StepReport {
  std::uint64_t step = 0;  // from 1
  double loss = 0;
  double learning_rate = 0;
  double seconds = 0;        // of the step
  double input_seconds = 0;  // of them, waiting for data
};

class Training {
 public:
  // `store` must outlive it. What `folder` holds of the same training is continued; of another one,
  // std::invalid_argument is thrown and nothing touched.
  Training(const TrainingOptions& options, const DevicePolicy& policy, const files::Store& store,
           const std::filesystem::path& folder);
  ~Training();

  std::uint64_t step() const { return step_; }
  bool is_done() const { return step_ >= options_.steps; }
  // Where it began, for the log: "from the beginning", "from step 400 of its checkpoint".
  const std::string& beginning() const { return beginning_; }

  StepReport take_step();
  // Whether the weights are those of a step's end: not where the optimiser was thrown out of its work.
  bool is_whole() const { return is_whole_; }
  Validation validate();
  void save_checkpoint();
  // The weights for use: their average where there is one.
  void save_model();

 private:
  double rate_at(std::uint64_t step) const;
  void update_average();
  void load_initial();
  void load_checkpoint(const std::filesystem::path& path);
  nlohmann::json identity() const;

  TrainingOptions options_;
  DevicePolicy policy_;
  bool has_other_upsampler_;  // than was asked for
  files::FolderLock lock_;
  const files::Store& store_;
  std::filesystem::path folder_;
  std::shared_ptr<networks::Network> network_;
  std::shared_ptr<networks::Network> average_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
  std::unique_ptr<Batches> batches_;
  std::uint64_t step_ = 0;
  bool is_whole_ = true;
  std::string beginning_ = "from the beginning";
};

}  // namespace anymps::superres::training
