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

// Where the wheel has put it: among the libraries for the PyTorch that this environment's Python finds.
std::filesystem::path program() {
  constexpr const char* kQuestion = "from anymps import _release; print(_release.folder())";
  const lab::host::ChildResult answer =
      lab::host::run_child({{lab::host::find_python(), "-c", kQuestion}, {}}, lab::host::ChildOutput::kCapture);
  const std::string folder = answer.output.substr(0, answer.output.find('\n'));
  return folder.empty() ? std::filesystem::path() : std::filesystem::path(folder) / "anymps-sr";
}

}  // namespace

void add_sr(CLI::App& app) {
  app.add_subcommand("sr", "Super-resolution: pack pictures, train a network, enlarge others");
}

int run_sr(const std::vector<std::string>& words) {
  const char* named = std::getenv("ANYMPS_SR_EXECUTABLE");
  const std::filesystem::path path = named != nullptr ? std::filesystem::path(named) : program();
  if (!std::filesystem::exists(path)) {
    lab::base::log().error("anymps-sr is not in this environment; it comes with the wheel that was built with PyTorch");
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
