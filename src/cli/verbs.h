// The verbs of `anymps VERB [options] [--] COMMAND…`. Each adds itself to the command tree, from which help, completion
// and the nearest name to a mistyped one are derived.
#pragma once

#include <string>
#include <vector>

#include "cli/options/verb.h"

namespace CLI {
class App;
}

namespace anymps::cli {

void add_sweep(CLI::App& app, options::Action& chosen);
void add_plateau(CLI::App& app, options::Action& chosen);
void add_profile(CLI::App& app, options::Action& chosen);
void add_decide(CLI::App& app, options::Action& chosen);
void add_run(CLI::App& app, options::Action& chosen);
void add_check(CLI::App& app, options::Action& chosen);
void add_trace(CLI::App& app, options::Action& chosen);
void add_coverage(CLI::App& app, options::Action& chosen);
void add_size(CLI::App& app, options::Action& chosen);
// In the list of verbs alone: main() hands it to run_sr() before anything is parsed.
void add_sr(CLI::App& app);
// `anymps sr WORDS`: starts the program that has it, which reads the words itself.
int run_sr(const std::vector<std::string>& words);
void add_parity(CLI::App& app, options::Action& chosen);
void add_handoff(CLI::App& app, options::Action& chosen);
void add_macs(CLI::App& app, options::Action& chosen);
void add_doctor(CLI::App& app, options::Action& chosen);
void add_log(CLI::App& app, options::Action& chosen);
void add_report(CLI::App& app, options::Action& chosen);
void add_env(CLI::App& app, options::Action& chosen);
void add_cache(CLI::App& app, options::Action& chosen);
void add_completion(CLI::App& app, options::Action& chosen);

}  // namespace anymps::cli
