// The verbs of `anymps sr`. Each adds itself with its options, and puts what it does into `chosen` when it is named.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace anymps::cli::sr {

using Action = std::function<int()>;

// Statuses: 0 done, 1 done in part or a bad verdict, 2 nothing was done.
inline constexpr int kBad = 1;
inline constexpr int kUsageError = 2;

void add_pack(CLI::App& app, Action& chosen);
void add_info(CLI::App& app, Action& chosen);
void add_verify(CLI::App& app, Action& chosen);
void add_train(CLI::App& app, Action& chosen);
void add_convert(CLI::App& app, Action& chosen);
void add_upscale(CLI::App& app, Action& chosen);

}  // namespace anymps::cli::sr
