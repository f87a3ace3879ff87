// The verbs of `anymps VERB [options] [--] COMMAND…`. Each adds itself to the command tree, from which help, completion
// and the nearest name to a mistyped one are derived.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace anymps::cli {

// What the verb that was given does with COMMAND; the status it returns is that of the program.
using Action = std::function<int(const std::vector<std::string>& command)>;

constexpr int kUsageError = 2;

void add_sweep(CLI::App& app, Action& chosen);
void add_plateau(CLI::App& app, Action& chosen);
void add_profile(CLI::App& app, Action& chosen);
void add_decide(CLI::App& app, Action& chosen);
void add_run(CLI::App& app, Action& chosen);
void add_check(CLI::App& app, Action& chosen);
void add_trace(CLI::App& app, Action& chosen);
void add_replay(CLI::App& app, Action& chosen);
void add_coverage(CLI::App& app, Action& chosen);
void add_size(CLI::App& app, Action& chosen);
// In the list of verbs alone: main() hands it to run_sr() before anything is parsed.
void add_sr(CLI::App& app);
// `anymps sr WORDS`: starts the program that has it, which reads the words itself.
int run_sr(const std::vector<std::string>& words);
void add_parity(CLI::App& app, Action& chosen);
void add_handoff(CLI::App& app, Action& chosen);
void add_macs(CLI::App& app, Action& chosen);
void add_metal(CLI::App& app, Action& chosen);
void add_doctor(CLI::App& app, Action& chosen);
void add_log(CLI::App& app, Action& chosen);
void add_report(CLI::App& app, Action& chosen);
void add_env(CLI::App& app, Action& chosen);
void add_cache(CLI::App& app, Action& chosen);
void add_completion(CLI::App& app, Action& chosen);

}  // namespace anymps::cli
