#include "lab/host/env_screen.h"

#include <fmt/format.h>

#include <string_view>

#include "lab/base/text_wrap.h"
#include "lab/base/units.h"

namespace anymps::lab::host {
namespace {

constexpr std::string_view kEnvIndent = "             ";

std::string fact_at(const nlohmann::json& object, const char* key, std::string otherwise = "unknown") {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

class EnvScreen {
 public:
  explicit EnvScreen(const base::Terminal& terminal) : terminal_(terminal) {}

  void line(std::string_view label, std::string_view text) {
    text_ += fmt::format("{:<{}}", label, kEnvIndent.size()) + base::fitted(text, kEnvIndent, terminal_);
  }

  void python(const nlohmann::json& python) {
    if (python.contains("error")) return line("python", fact_at(python, "error"));
    line("python", fmt::format("{} at {}", fact_at(python, "version"), fact_at(python, "executable")));
    line("", fmt::format("anymps {}", fact_at(python, "anymps", "not installed")));
    if (python.contains("torch")) {
      torch(python["torch"]);
    } else {
      line("torch", fact_at(python, "torch_error"));
    }
    line("mps", python.contains("why_not") ? "not available: " + fact_at(python, "why_not") : "available");
    if (python.contains("library")) line("", "from " + fact_at(python, "library"));
    for (const auto& said : python.value("said", nlohmann::json::array())) line("", "| " + said.get<std::string>());
  }

  void machine(const Machine& machine) {
    line("system", fmt::format("{}, {}, {}", machine.system, machine.kernel, machine.architecture));
    line("cpu", fmt::format("{}, {} cores ({} allowed)", machine.cpu.empty() ? "unknown" : machine.cpu, machine.cores,
                            machine.cores_allowed));
    line("memory", machine.cgroup_limit_bytes ? fmt::format("{}, of which the control group allows {}",
                                                            base::human_bytes(machine.memory_bytes),
                                                            base::human_bytes(*machine.cgroup_limit_bytes))
                                              : base::human_bytes(machine.memory_bytes));
  }

  std::string take() { return std::move(text_); }

 private:
  void torch(const nlohmann::json& torch) {
    std::string build = "CPU build";
    if (torch["cuda"].is_string()) build = "CUDA " + fact_at(torch, "cuda") + " build";
    if (torch["hip"].is_string()) build = "HIP " + fact_at(torch, "hip") + " build";
    line("torch", fmt::format("{}, {}, {} threads, at {}", fact_at(torch, "version"), build, torch.value("threads", 0),
                              fact_at(torch, "path")));
  }

  const base::Terminal& terminal_;
  std::string text_;
};

}  // namespace

std::string env_screen(const EnvironmentFacts& facts, const base::Terminal& terminal) {
  EnvScreen screen(terminal);
  screen.line("anymps", fmt::format("{} at {}", facts.version, facts.executable));
  screen.python(facts.python);
  screen.machine(facts.machine);
  screen.line("cache", facts.cache);
  for (std::size_t i = 0; i < facts.variables.size(); ++i) {
    screen.line(i == 0 ? "environment" : "", facts.variables[i].first + "=" + facts.variables[i].second);
  }
  return screen.take();
}

nlohmann::json to_json(const EnvironmentFacts& facts) {
  auto environment = nlohmann::json::object();
  for (const auto& [name, value] : facts.variables) environment[name] = value;
  return {{"version", 1},
          {"anymps", facts.version},
          {"executable", facts.executable},
          {"cache", facts.cache},
          {"machine", to_json(facts.machine)},
          {"python", facts.python},
          {"environment", environment}};
}

}  // namespace anymps::lab::host
