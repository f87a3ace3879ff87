#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cli/verbs.h"
#include "lab/base/log.h"
#include "lab/host/child.h"
#include "lab/host/python.h"

namespace anymps::cli {
namespace {

struct Program {
  std::filesystem::path path;
  std::string problem;  // why there is none
};

// Where the wheel has put it: among the libraries for the PyTorch that this environment's Python finds.
Program program() {
  if (const char* named = std::getenv("ANYMPS_SR_EXECUTABLE")) return {named, {}};
  constexpr const char* kQuestion = R"python(
try:
    from anymps import _release
except ImportError as error:
    print(f"this environment's Python has no anymps ({error})", True)
else:
    problem = _release.problem()
    print(problem or _release.folder(), bool(problem))
)python";
  const lab::host::ChildResult answer =
      lab::host::run_child({{lab::host::find_python(), "-c", kQuestion}, {}}, lab::host::ChildOutput::kCapture);
  const std::string line = answer.output.substr(0, answer.output.find('\n'));
  const std::size_t space = line.rfind(' ');
  if (answer.status() != 0 || space == std::string::npos) return {{}, "this environment's Python does not answer"};
  const std::string said = line.substr(0, space);
  if (line.substr(space + 1) == "True") return {{}, said};
  return {std::filesystem::path(said) / "anymps-sr", {}};
}

}  // namespace

void add_sr(CLI::App& app) {
  app.add_subcommand("sr", "Super-resolution: pack pictures, train a network, enlarge others");
}

int run_sr(const std::vector<std::string>& words) {
  const auto [path, problem] = program();
  if (!problem.empty()) {
    lab::base::log().error("super-resolution needs PyTorch's libraries: {}", problem);
    return options::kUsageError;
  }
  std::vector<std::string> all = {path.string()};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : all) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv(path.c_str(), arguments.data());
  lab::base::log().error("{}: {}", path.string(), std::strerror(errno));
  return options::kUsageError;
}

}  // namespace anymps::cli
