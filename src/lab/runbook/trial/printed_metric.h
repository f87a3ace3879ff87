// A number that a script prints, found by its name.
#pragma once

#include <istream>
#include <optional>
#include <string>
#include <string_view>

namespace anymps::lab::runbook::trial {

// The last number behind `name`, in what was printed: "accuracy=0.93", "accuracy: 93 %", "'accuracy': 0.93", "accuracy
// 0.93". A percent sign changes nothing. The name must not be a part of a longer one: "loss" is not in "val_loss". NaN
// and infinities count.
std::optional<double> last_metric(std::istream& printed, std::string_view name);

}  // namespace anymps::lab::runbook::trial
