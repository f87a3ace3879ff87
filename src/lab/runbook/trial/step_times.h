// How long the steps of a recording took, the first ones apart: what a program does once is no part of its pace.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/runbook/trial/recording.h"

namespace anymps::lab::runbook::trial {

struct Spread {
  double median = 0;
  double low = 0;  // quartiles
  double high = 0;

  static Spread of(std::vector<double> values);
};

struct StepTimes {
  std::uint64_t steady_steps = 0;  // in the window
  Spread seconds;                  // of one of them
  double first_seconds = 0;        // of the very first step; 0 where it is not known
  double input_share = 0;          // of the window that the script waited for its loaders
  double samples_per_step = 0;     // 0 where the loaders did not tell
  // Samples a second over the whole window, whose ends waited for the device; `otherwise` are the samples of a step
  // where the loaders do not tell.
  double samples_per_second(double otherwise) const;
  Spread samples_spread(double otherwise) const;
  double window_seconds = 0;
};

// Steps from `warm_up` on, at least the first one left out.
StepTimes step_times(const RecordedProcess& process, std::uint64_t warm_up);

}  // namespace anymps::lab::runbook::trial
