#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/verbs.h"
#include "cli/version.h"
#include "gpu/cache_folder.h"
#include "lab/json_text.h"
#include "lab/machine.h"
#include "lab/python.h"
#include "lab/summary_screen.h"

namespace anymps::cli {
namespace {

void line(std::string_view label, std::string_view text) { fmt::print("{:<12} {}\n", label, text); }

std::string text_at(const nlohmann::json& object, const char* key, std::string otherwise = "unknown") {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

void print_python(const nlohmann::json& python) {
  if (python.contains("error")) {
    line("python", text_at(python, "error"));
    return;
  }
  line("python", fmt::format("{} at {}", text_at(python, "version"), text_at(python, "executable")));
  line("", fmt::format("anymps {}", text_at(python, "anymps", "not installed")));
  if (python.contains("torch")) {
    const nlohmann::json& torch = python["torch"];
    std::string build = "CPU build";
    if (torch["cuda"].is_string()) build = "CUDA " + text_at(torch, "cuda") + " build";
    if (torch["hip"].is_string()) build = "HIP " + text_at(torch, "hip") + " build";
    line("torch", fmt::format("{}, {}, {} threads, at {}", text_at(torch, "version"), build, torch.value("threads", 0),
                              text_at(torch, "path")));
  } else {
    line("torch", text_at(python, "torch_error"));
  }
  line("mps", python.contains("why_not") ? "not available: " + text_at(python, "why_not") : "available");
  for (const auto& said : python.value("said", nlohmann::json::array())) line("", "| " + said.get<std::string>());
}

void print_machine(const lab::Machine& machine) {
  line("system", fmt::format("{}, {}, {}", machine.system, machine.kernel, machine.architecture));
  line("cpu", fmt::format("{}, {} cores ({} allowed)", machine.cpu.empty() ? "unknown" : machine.cpu, machine.cores,
                          machine.cores_allowed));
  line("memory", machine.cgroup_limit_bytes
                     ? fmt::format("{}, of which the control group allows {}", lab::human_bytes(machine.memory_bytes),
                                   lab::human_bytes(*machine.cgroup_limit_bytes))
                     : lab::human_bytes(machine.memory_bytes));
}

int env(bool as_json) {
  const lab::Machine machine = lab::Machine::here();
  const auto variables = lab::telling_variables();
  const nlohmann::json python = lab::ask_python({{lab::find_python()}, {}});
  const std::string cache = gpu::CacheFolder::of_this_user().path().string();
  if (as_json) {
    auto environment = nlohmann::json::object();
    for (const auto& [name, value] : variables) environment[name] = value;
    const nlohmann::json all = {{"version", 1},
                                {"anymps", ANYMPS_VERSION},
                                {"executable", lab::own_executable().string()},
                                {"cache", cache},
                                {"machine", lab::to_json(machine)},
                                {"python", python},
                                {"environment", environment}};
    fmt::print("{}", lab::json_pages(all));
    return 0;
  }
  line("anymps", fmt::format("{} at {}", ANYMPS_VERSION, lab::own_executable().string()));
  print_python(python);
  print_machine(machine);
  line("cache", cache);
  for (std::size_t i = 0; i < variables.size(); ++i) {
    line(i == 0 ? "environment" : "", variables[i].first + "=" + variables[i].second);
  }
  return 0;
}

}  // namespace

void add_env(CLI::App& app, Action& chosen) {
  auto as_json = std::make_shared<bool>(false);
  CLI::App* verb = app.add_subcommand("env", "Show what a bug report needs");
  verb->add_flag("--json", *as_json, "As JSON");
  verb->footer(R"(Examples:
  anymps env            versions, the device, and why it is not there where it is not
  anymps env --json     for programs
)");
  verb->callback([as_json, &chosen] { chosen = [as_json](const auto&) { return env(*as_json); }; });
}

}  // namespace anymps::cli
