#include "lab/host/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <thread>

#include "gpu/support/machine_memory.h"
#include "lab/base/json_text.h"
#include "lab/host/child.h"

#ifdef __APPLE__
#include <sys/sysctl.h>
#else
#include <sched.h>
#endif

extern char** environ;

namespace anymps::lab::host {
namespace {

// The value of the first line that begins with `key`, past the separator and outside quotes.
std::string value_in(const char* path, std::string_view key, char separator) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t at = line.find(separator);
    if (at == std::string::npos) continue;
    std::string value = line.substr(at + 1);
    const std::size_t begin = value.find_first_not_of(" \t\"");
    const std::size_t end = value.find_last_not_of(" \t\"");
    return begin == std::string::npos ? std::string() : value.substr(begin, end - begin + 1);
  }
  return {};
}

#ifdef __APPLE__
std::string sysctl_text(const char* name) {
  std::array<char, 256> text{};
  std::size_t size = text.size() - 1;
  return ::sysctlbyname(name, text.data(), &size, nullptr, 0) == 0 ? std::string(text.data()) : std::string();
}
#endif

// Runs in the user's Python. Standard error is held during the import, because that is where a device that steps aside
// says why.
constexpr const char* kMachineQuestions = R"python(
import faulthandler, json, os, sys, tempfile
faulthandler.dump_traceback_later(120, exit=True)  # A device that hangs is an answer, too.
sys.path[:] = [p for p in sys.path if p]
facts = {"version": sys.version.split()[0], "executable": sys.executable, "prefix": sys.prefix}
try:
    from importlib import metadata
    facts["anymps"] = metadata.version("anymps")
except Exception:
    facts["anymps"] = None
with tempfile.TemporaryFile() as held:
    saved = os.dup(2)
    os.dup2(held.fileno(), 2)
    try:
        import torch
        facts["torch"] = {
            "version": torch.__version__,
            "cuda": torch.version.cuda,
            "hip": getattr(torch.version, "hip", None),
            "cuda_available": torch.cuda.is_available(),
            "path": os.path.dirname(torch.__file__),
            "threads": torch.get_num_threads(),
        }
        facts["mps"] = {"built": torch.backends.mps.is_built(), "available": torch.backends.mps.is_available()}
        if "anymps._C" in sys.modules:
            import anymps
            facts["library"] = anymps.library_path()
    except BaseException as error:
        facts["torch_error"] = f"{type(error).__name__}: {error}"
    sys.stderr.flush()
    os.dup2(saved, 2)
    held.seek(0)
    facts["said"] = [line for line in held.read().decode(errors="replace").splitlines() if line.strip()][-20:]
if not facts.get("mps", {}).get("available"):
    if facts["anymps"] is None:
        reason = "anymps is not installed for this Python"
    elif os.environ.get("ANYMPS") == "0":
        reason = "ANYMPS=0 keeps it out"
    elif facts.get("torch", {}).get("cuda_available") and os.environ.get("ANYMPS") != "1":
        reason = "a CUDA GPU is visible; ANYMPS=1 brings mps in beside it"
    elif "torch_error" in facts:
        reason = "torch cannot be imported: " + facts["torch_error"]
    elif facts.get("mps", {}).get("built"):
        import platform
        reason = f"macOS {platform.mac_ver()[0]} is simulated, and PyTorch asks for 14.0"
    else:
        ours = [line for line in facts["said"] if line.startswith("anymps")]
        reason = ours[-1] if ours else "anymps did not say; run with ANYMPS_REQUIRED=1"
    facts["why_not"] = reason
)python";

// On a line of its own, whatever was printed before.
constexpr const char* kAnswer = R"python(
sys.stdout.write("\n")
json.dump(facts, sys.stdout)
)python";

}  // namespace

Machine Machine::here() {
  Machine machine;
  utsname names{};
  if (::uname(&names) == 0) {
    machine.kernel = std::string(names.sysname) + " " + names.release;
    machine.architecture = names.machine;
  }
  machine.cores = std::max(1U, std::thread::hardware_concurrency());
  machine.cores_allowed = machine.cores;
#ifdef __APPLE__
  machine.system = "macOS " + sysctl_text("kern.osproductversion");
  machine.cpu = sysctl_text("machdep.cpu.brand_string");
  std::size_t size = sizeof machine.memory_bytes;
  ::sysctlbyname("hw.memsize", &machine.memory_bytes, &size, nullptr, 0);
#else
  machine.system = value_in("/etc/os-release", "PRETTY_NAME", '=');
  machine.cpu = value_in("/proc/cpuinfo", "model name", ':');
  if (const long cores = ::sysconf(_SC_NPROCESSORS_ONLN); cores > 0) machine.cores = static_cast<unsigned>(cores);
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
    machine.cores_allowed = static_cast<unsigned>(CPU_COUNT(&allowed));
  }
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page_bytes = ::sysconf(_SC_PAGESIZE);
  if (pages > 0 && page_bytes > 0) {
    machine.memory_bytes = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes);
  }
  machine.cgroup_limit_bytes = gpu::support::memory_limit();
#endif
  return machine;
}

std::vector<std::pair<std::string, std::string>> telling_variables() {
  constexpr std::array kPrefixes = {"ANYMPS",
                                    "PYTORCH_",
                                    "TORCH",
                                    "OMP_",
                                    "MKL_",
                                    "KMP_",
                                    "GOMP_",
                                    "OPENBLAS_",
                                    "VECLIB_",
                                    "MTL_",
                                    "HF_HOME",
                                    "HF_HUB_CACHE",
                                    "HF_DATASETS_CACHE",
                                    "CUDA_VISIBLE_DEVICES",
                                    "VIRTUAL_ENV",
                                    "CONDA_PREFIX",
                                    "PYTHONPATH",
                                    "PYTHONHOME",
                                    "PYTHONHASHSEED",
                                    "LD_PRELOAD",
                                    "LD_LIBRARY_PATH",
                                    "DYLD_"};
  std::vector<std::pair<std::string, std::string>> found;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    if (std::ranges::any_of(kPrefixes, [text](const char* prefix) { return text.starts_with(prefix); })) {
      found.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  std::ranges::sort(found);
  return found;
}

nlohmann::json to_json(const Machine& machine) {
  return {{"system", machine.system},
          {"kernel", machine.kernel},
          {"architecture", machine.architecture},
          {"cpu", machine.cpu},
          {"cores", machine.cores},
          {"cores_allowed", machine.cores_allowed},
          {"memory_bytes", machine.memory_bytes},
          {"cgroup_limit_bytes",
           machine.cgroup_limit_bytes ? nlohmann::json(*machine.cgroup_limit_bytes) : nlohmann::json()}};
}

nlohmann::json ask_python(const ChildCommand& python, std::string_view further) {
  ChildCommand asked = python;
  const std::string name = asked.words.empty() ? "python" : asked.words.back();
  asked.words.insert(asked.words.end(), {"-c", std::string(kMachineQuestions) + std::string(further) + kAnswer});
  const ChildResult result = run_child(asked, ChildOutput::kCapture);
  if (!result.start_error.empty()) {
    return {{"error", name + " cannot be started: " + result.start_error}, {"not_started", true}};
  }
  // A sitecustomize may print first; the answer is the last line.
  const std::size_t line = result.output.find_last_of('\n');
  const std::string answer = line == std::string::npos ? result.output : result.output.substr(line + 1);
  nlohmann::json facts = base::json_of(answer);
  if (result.status() != 0 || !facts.is_object()) {
    return {{"error", name + " ended with status " + std::to_string(result.status()) + " and no answer"}};
  }
  return facts;
}

}  // namespace anymps::lab::host
