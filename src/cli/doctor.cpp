#include "lab/runbook/doctor/doctor.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "cli/options/mac_options.h"
#include "cli/options/runbook_options.h"
#include "cli/verbs.h"
#include "lab/host/python.h"

namespace anymps::cli {
namespace {

struct DoctorOptions {
  lab::runbook::trial::SessionOptions session;
  options::MacChoice choice;
  bool strict = false;
};

// The words of the command that start Python: its script, where it has one, is not run.
std::vector<std::string> interpreter_in(const std::vector<std::string>& command) {
  if (command.empty()) return {lab::host::find_python()};
  std::vector<std::string> words = lab::host::with_python(command);
  const auto python = std::ranges::find_if(words, [](const std::string& word) {
    const std::string name = std::filesystem::path(word).filename().string();
    return name.starts_with("python") || name.starts_with("pypy");
  });
  if (python != words.end()) return {words.begin(), python + 1};
  if (words.size() == 1) return words;
  throw std::invalid_argument("there is no Python in `" + words.front() +
                              " …`; for example: anymps doctor -- /path/to/python");
}

int doctor(const DoctorOptions& options, const std::vector<std::string>& command) {
  const auto chosen = options.choice.resolve();
  if (!chosen) return options::kUsageError;
  lab::host::ChildCommand python{interpreter_in(command), {}};
  options.choice.put_into(python.environment);
  lab::runbook::trial::Session session(
      "doctor", options.session, python.words,
      {{"mac", chosen->mac ? nlohmann::json(chosen->mac->name) : nlohmann::json()},
       {"macos", options.choice.macos.empty() ? nlohmann::json() : nlohmann::json(options.choice.macos)},
       {"strict", options.strict}});
  session.progress().at(0, "asking Python");
  lab::runbook::doctor::DoctorFacts facts = lab::runbook::doctor::DoctorFacts::gather(python);
  if (chosen->mac) facts.mac = chosen->mac->name;
  session.put_facts(lab::runbook::doctor::logged_facts(facts));
  const lab::runbook::doctor::DoctorDocument judged = lab::runbook::doctor::doctor_document(facts, options.strict);
  return options::conclude(options.session, session.finish(lab::runbook::doctor::doctor_verdict(judged),
                                                           lab::runbook::document::to_json(judged)));
}

}  // namespace

void add_doctor(CLI::App& app, options::Action& chosen) {
  auto options = std::make_shared<DoctorOptions>();
  CLI::App* verb = app.add_subcommand("doctor", "The gates before a training: is this machine and its Python ready?");
  verb->prefix_command();
  options::add_session_options(*verb, options->session);
  options->choice.add_mac(*verb);
  options->choice.add_macos(*verb);
  verb->add_flag("--strict", options->strict, "A yellow gate is as bad as a red one");
  verb->footer(
      R"(COMMAND is the Python to look at, or a command that begins with one: its script is not run. Without it, the
Python that anymps run would take.

Green is in order, yellow makes figures doubtful, red stands in the way. Status 0: none is red (with --strict: none is
yellow either); 1: one is; 2: it could not be found out.

Examples:
  anymps doctor
  anymps doctor --strict -- /opt/venv/bin/python
  anymps doctor --mac m2-8gb --json
)");
  verb->callback([options, &chosen] {
    chosen = [options](const std::vector<std::string>& command) {
      return options::guarded([&] { return doctor(*options, command); });
    };
  });
}

}  // namespace anymps::cli
