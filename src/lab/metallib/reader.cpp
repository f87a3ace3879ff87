#include "lab/metallib/reader.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "lab/host/child.h"
#include "lab/host/python.h"
#include "lab/trace/run_summary.h"
#include "metal/tool/tool.h"

namespace anymps::lab::metallib {
namespace fs = std::filesystem;
namespace {

constexpr const char* kLibrary = "libanymps_metal.so";
constexpr const char* kEntryPoint = "anymps_metal_tool";
using EntryPoint = decltype(&anymps_metal_tool);

// Reading a library of 13,000 kernels takes about 6 s and 0.2 GB; compiling a source of 2,000 takes minutes.
constexpr const char* kSecondsVariable = "ANYMPS_METAL_SECONDS";
constexpr rlim_t kMostCpuSeconds = 600;
constexpr rlim_t kMostAddressSpace = 4ULL << 30U;

enum ChildStatus : int { kAnswered = 0, kRefused = 2, kNoLibrary = 3, kDoesNotCompile = 4 };

// Asks without importing, and not in this folder.
constexpr const char* kWhereIsAnymps =
    "import sys; sys.path = [folder for folder in sys.path if folder]\n"
    "import importlib.util\n"
    "found = importlib.util.find_spec('anymps')\n"
    "print(found.submodule_search_locations[0] if found else '', end='')";

std::string find_library() {
  std::error_code error;
  // As in a build tree.
  if (const fs::path beside = host::own_executable().parent_path() / kLibrary; fs::exists(beside, error)) return beside;
  const host::ChildResult python =
      host::run_child({{host::find_python(), "-c", kWhereIsAnymps}, {}}, host::ChildOutput::kCapture);
  if (python.status() != 0 || python.output.empty()) return {};
  const fs::path installed = fs::path(python.output.substr(python.output.find_last_of('\n') + 1)) / "lib" / kLibrary;
  return fs::exists(installed, error) ? installed.string() : std::string();
}

rlim_t most_cpu_seconds() {
  const char* variable = std::getenv(kSecondsVariable);
  const rlim_t asked = variable == nullptr ? 0 : std::strtoull(variable, nullptr, 10);
  return asked == 0 ? kMostCpuSeconds : asked;
}

std::string how_it_ended(const std::string& verb, const host::ChildResult& child) {
  const char* what = verb == "run" || verb == "replay" ? "running it" : verb == "check" ? "checking it" : "reading it";
  if (child.signal == SIGXCPU) {
    return fmt::format("{} took more than {} s of processor time ({} sets the limit)", what, most_cpu_seconds(),
                       kSecondsVariable);
  }
  if (child.signal != 0) return fmt::format("{} ended by {}", what, trace::signal_name(child.signal));
  return fmt::format("{} ended with status {}", what, child.exit_code);
}

void bound(int resource, rlim_t most, rlim_t beyond = 0) {
  const rlimit limit = {most, most + beyond};
  ::setrlimit(resource, &limit);
}

const std::string& file_of(const std::vector<std::string>& request) {
  return *std::find_if(request.begin() + 1, request.end() - 1, [](const auto& word) { return !word.starts_with('-'); });
}

}  // namespace

MetalAnswer ask_metal(const std::vector<std::string>& request) {
  const std::string library = find_library();
  if (library.empty()) {
    return {.text = fmt::format("{} is neither beside {} nor in the environment's anymps", kLibrary,
                                host::own_executable().string())};
  }
  host::ChildCommand command{{host::own_executable().string(), kMetalChild, library}, {}};
  command.words.insert(command.words.end(), request.begin(), request.end());
  host::ChildResult child = host::run_child(command, host::ChildOutput::kCapture);
  if (!child.start_error.empty()) return {.text = "the reader cannot be started: " + child.start_error};
  if (child.interrupted) return {.text = file_of(request) + ": interrupted", .interrupted = true};
  switch (child.status()) {
    case kAnswered: {
      MetalAnswer answer{.answered = true, .text = std::move(child.output)};
      if (const std::size_t zero = answer.text.find('\0'); zero != std::string::npos) {
        answer.files = answer.text.substr(zero + 1);
        answer.text.resize(zero);
      }
      return answer;
    }
    case kRefused:
      return {.text = std::move(child.output), .refused = true};
    case kDoesNotCompile:
      return {.text = std::move(child.output), .refused = true, .of_compiler = true};
    case kNoLibrary:
      return {.text = std::move(child.output)};
    default:
      return {.text = file_of(request) + ": refused: " + how_it_ended(request[0], child), .refused = true};
  }
}

int metal_child(const std::vector<std::string>& arguments) {
  const auto write = [](void*, const char* text, std::size_t size) { std::fwrite(text, 1, size, stdout); };
  void* library = arguments.empty() ? nullptr : ::dlopen(arguments[0].c_str(), RTLD_NOW | RTLD_LOCAL);
  auto* entry_point = library == nullptr ? nullptr : reinterpret_cast<EntryPoint>(::dlsym(library, kEntryPoint));
  if (entry_point == nullptr) {
    const char* why = ::dlerror();
    fmt::print("{}", why != nullptr ? why : "no library is named");
    return kNoLibrary;
  }
  // At the first bound the system sends SIGXCPU, which says what happened; at the second SIGKILL.
  bound(RLIMIT_CPU, most_cpu_seconds(), 5);
  bound(RLIMIT_AS, kMostAddressSpace);
  bound(RLIMIT_CORE, 0);
  std::vector<const char*> words;
  for (std::size_t i = 1; i < arguments.size(); ++i) words.push_back(arguments[i].c_str());
  const int status = entry_point(words.size(), words.data(), write, nullptr);
  // No destructors of a library that hostile bitcode went through.
  std::fflush(stdout);
  ::_exit(status);
}

}  // namespace anymps::lab::metallib
