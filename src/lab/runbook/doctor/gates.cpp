#include "lab/runbook/doctor/gates.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <compare>
#include <nlohmann/json.hpp>
#include <optional>

#include "gpu/history/mac_profile.h"
#include "gpu/support/whole_number.h"
#include "lab/base/units.h"
#include "lab/runbook/document/fields.h"

namespace anymps::lab::runbook::doctor {
namespace {

using nlohmann::json;

// "3.11.7", "2.13.0+cpu": as far as numbers go.
struct Version {
  unsigned major = 0;
  unsigned minor = 0;
  auto operator<=>(const Version&) const = default;

  static Version of(std::string_view text) {
    Version version;
    const std::size_t dot = std::min(text.find('.'), text.size());
    version.major = gpu::support::whole_number<unsigned>(text.substr(0, dot)).value_or(0);
    text.remove_prefix(std::min(dot + 1, text.size()));
    version.minor =
        gpu::support::whole_number<unsigned>(text.substr(0, text.find_first_not_of("0123456789"))).value_or(0);
    return version;
  }
  std::string text() const { return fmt::format("{}.{}", major, minor); }
};

#include "doctor_thresholds.inc"

// Below which macOS that torch finds no device.
Version oldest_macos(const Version& torch) {
  if (torch >= Version{2, 15}) return {15, 0};
  if (torch >= Version{2, 9}) return {gpu::history::kOldestMacos.major, gpu::history::kOldestMacos.minor};
  return torch >= Version{2, 5} ? Version{13, 0} : Version{12, 3};
}

std::vector<std::string> texts_at(const json& object, const char* key) {
  std::vector<std::string> texts;
  for (const json& text : document::member(object, key)) {
    if (text.is_string()) texts.push_back(text.get<std::string>());
  }
  return texts;
}

Gate green(std::string name, std::string value, std::string why = "") {
  return {std::move(name), GateState::kGreen, std::move(value), std::move(why), ""};
}
Gate yellow(std::string name, std::string value, std::string why, std::string remedy) {
  return {std::move(name), GateState::kYellow, std::move(value), std::move(why), std::move(remedy)};
}
Gate red(std::string name, std::string value, std::string why, std::string remedy) {
  return {std::move(name), GateState::kRed, std::move(value), std::move(why), std::move(remedy)};
}

constexpr const char* kNotTold = "the system does not tell";

bool is_simulated(const DoctorFacts& facts) { return !facts.on_mac; }

bool has_torch(const DoctorFacts& facts) { return facts.python.contains("torch"); }

Version torch_version(const DoctorFacts& facts) {
  return Version::of(document::string_in(document::member(facts.python, "torch"), "version"));
}

// --- the interpreter and its wheel -----------------------------------------------------------------------------------

Gate architecture(const DoctorFacts& facts) {
  const std::string name = "interpreter architecture";
  const std::string python = document::string_in(facts.python, "architecture", "unknown");
  if (facts.on_mac && facts.hardware == "arm64" && python != "arm64") {
    return red(
        name, python + " Python on an Apple-silicon Mac",
        "It runs translated by Rosetta. MPS needs an arm64 process, and PyTorch has had no x86-64 wheel for macOS "
        "since 2.2, so that training silently stays on a slow CPU and an old release." +
            std::string(facts.translated ? " This terminal is translated, too, and a universal Python follows it."
                                         : ""),
        "Make the environment anew with an arm64 Python (python.org's universal installer, Homebrew in "
        "/opt/homebrew, or conda for osx-arm64), from a terminal that is not opened with Rosetta.");
  }
  if (facts.on_mac && facts.hardware != "arm64") {
    return red(name, python + " Python on an Intel Mac",
               "PyTorch's current wheels for macOS are for Apple silicon only.",
               "Use a Mac with Apple silicon, or a machine with Linux.");
  }
  if (document::number_in(facts.python, "bits").value_or(64) != 64) {
    return red(name, python + ", 32 bits", "There is no PyTorch for 32-bit Pythons.", "Install a 64-bit Python.");
  }
  return green(name, python);
}

Gate python_version(const DoctorFacts& facts) {
  const std::string name = "python";
  const std::string value = fmt::format("{} at {}", document::string_in(facts.python, "version"),
                                        document::string_in(facts.python, "executable"));
  // What the wheel itself asks for, such as ">=3.10".
  const std::string asked = document::string_in(document::member(facts.python, "wheel"), "requires_python");
  const Version least =
      asked.starts_with(">=") ? std::max(Version::of(std::string_view(asked).substr(2)), Version{3, 0}) : kOldestPython;
  if (Version::of(document::string_in(facts.python, "version")) < least) {
    return red(name, value, fmt::format("PyTorch 2.13 needs Python {} or newer.", least.text()),
               fmt::format("Make an environment with Python {} or newer.", least.text()));
  }
  return green(name, value, fmt::format("At least {} is needed.", least.text()));
}

Gate torch_build(const DoctorFacts& facts) {
  const std::string name = "torch";
  if (!has_torch(facts)) {
    return red(name, document::string_in(facts.python, "torch_error", "not there"),
               "Nothing can be trained without it.", "Install PyTorch into this environment: pip install torch.");
  }
  const json& torch = document::member(facts.python, "torch");
  const std::string version = document::string_in(torch, "version");
  if (torch_version(facts) < kOldestTorch) {
    return red(name, version, "MPS was a prototype before PyTorch 2.0, and this runbook's commands need 2.x.",
               "Upgrade: pip install --upgrade torch.");
  }
  constexpr std::array kUnstable = {"dev", "nightly", "git", "a0", "rc"};
  if (std::ranges::any_of(kUnstable, [&](const char* mark) { return version.find(mark) != std::string::npos; })) {
    return yellow(
        name, version,
        "It is no stable release. Figures from it cannot be repeated once it is gone; a nightly is for trying "
        "whether a fix works.",
        "Pin a stable release for anything that others rely on.");
  }
  if (document::flag_in(torch, "debug")) {
    return yellow(name, version + ", a debug build", "It is much slower than a release.", "Install a release wheel.");
  }
  return green(name, version);
}

// Whether a wheel's platform is made for that architecture.
bool fits(const std::string& tag, const std::string& architecture) {
  if (tag.ends_with("-any") || tag.ends_with("_universal2") || tag.ends_with("_" + architecture)) return true;
  return architecture == "amd64" && tag.ends_with("x86_64");
}

Gate wheel(const DoctorFacts& facts) {
  const std::string name = "wheel";
  if (!has_torch(facts)) return red(name, "no torch", "There is no wheel to look at.", "Install PyTorch.");
  const json& wheel = document::member(facts.python, "wheel");
  if (wheel.contains("error")) {
    return yellow(name, "none: " + document::string_in(wheel, "error"),
                  "torch was imported, but no package of it is installed; where it comes from is not recorded.",
                  "Install a release wheel, so that others can install the same.");
  }
  const auto tags = texts_at(wheel, "tags");
  const std::string installer = document::string_in(wheel, "installer", "an unknown program");
  const std::string value = fmt::format("{}, installed by {}", tags.empty() ? "without tags" : tags.front(), installer);
  const std::string architecture = document::string_in(facts.python, "architecture");
  if (!tags.empty() && !architecture.empty() &&
      std::ranges::none_of(tags, [&](const std::string& tag) { return fits(tag, architecture); })) {
    return red(name, value, fmt::format("The wheel is not made for this Python, which is {}.", architecture),
               "Remove torch and install it again with this Python's own pip.");
  }
  if (document::string_in(wheel, "version") !=
      document::string_in(document::member(facts.python, "torch"), "version")) {
    return yellow(name, fmt::format("{}; the package is {}", value, document::string_in(wheel, "version")),
                  "The torch that is imported is another one than the package that is installed.",
                  "Look at `torch.__file__`, and remove the one that should not be there.");
  }
  if (const std::string url = document::string_in(wheel, "url"); !url.empty()) {
    return yellow(name, fmt::format("{}, from {}", value, url),
                  "It was installed from a file or repository and not from an index; another machine may not get it.",
                  "Note the source in the handoff, or install a release from the index.");
  }
  return green(name, value, "The build's source is pinned by a lockfile: anymps handoff pack writes one.");
}

// --- the device ------------------------------------------------------------------------------------------------------

Gate system_version(const DoctorFacts& facts) {
  const std::string name = "macOS";
  const Version least = oldest_macos(torch_version(facts));
  const std::string because = fmt::format("PyTorch {} finds an MPS device from macOS {} on.",
                                          has_torch(facts) ? torch_version(facts).text() : "2.13", least.text());
  // An x86 Python may be told 10.16, whatever it runs on; the system itself knows.
  std::string version = facts.on_mac && facts.machine.system.starts_with("macOS ")
                            ? facts.machine.system.substr(6)
                            : document::string_in(facts.python, "macos");
  if (!facts.on_mac && version.empty()) {
    if (!document::flag_in(document::member(facts.python, "mps"), "available")) {
      return green(name, facts.machine.system, "Not a Mac, and no device is there that simulates one.");
    }
    version = gpu::history::kDefaultMacos.text();
  }
  const std::string value = facts.on_mac ? version : fmt::format("{}, simulated on {}", version, facts.machine.system);
  if (Version::of(version) < least) {
    return red(
        name, value, because,
        facts.on_mac ? "Upgrade macOS, or install an older PyTorch." : "Play a newer one: --macos or ANYMPS_MACOS.");
  }
  return green(name, value, because);
}

Gate built(const DoctorFacts& facts) {
  const std::string name = "is_built";
  if (document::flag_in(document::member(facts.python, "mps"), "built")) return green(name, "True");
  return red(name, has_torch(facts) ? "False" : "no torch",
             facts.on_mac ? "This PyTorch was built without MPS."
                          : "PyTorch for Linux has no MPS of its own, and anymps did not bring one: " +
                                document::string_in(facts.python, "why_not", "it did not say why") + ".",
             facts.on_mac ? "Install the arm64 wheel from the index."
                          : "Install anymps into this environment; anymps env says more.");
}

Gate available(const DoctorFacts& facts) {
  const std::string name = "is_available";
  if (!document::flag_in(document::member(facts.python, "mps"), "available")) {
    return red(name, has_torch(facts) ? "False" : "no torch",
               document::string_in(facts.python, "why_not", "torch does not say why") + ".",
               "Look at the red gates above first; anymps env says more.");
  }
  const json& device = document::member(facts.python, "device");
  if (is_simulated(facts)) {
    return green(name,
                 fmt::format("True: a simulated device (anymps {})", document::string_in(facts.python, "anymps", "?")),
                 "Results and limits are a Mac's; speed is this machine's CPU and says nothing about a Mac.");
  }
  return green(name, fmt::format("True: {}", document::string_in(device, "name", "Apple's GPU")));
}

Gate product(const DoctorFacts& facts) {
  const std::string name = "matmul";
  const json& product = document::member(facts.python, "product");
  if (!product.is_object()) {
    return red(name, "not tried", "There is no device to try it on.", "Look at the red gates above first.");
  }
  if (product.contains("error")) {
    return red(name, document::string_in(product, "error"),
               "A product of two matrices of 64 x 64 could not be made on the device.",
               "Restart the Mac or the container, then install torch again.");
  }
  const std::string device = document::string_in(product, "device");
  const double difference = document::number_in(product, "difference").value_or(std::nan(""));
  const double largest = document::number_in(product, "largest").value_or(1);
  const std::string value = fmt::format("on {}, {:.1e} from the CPU's", device, difference);
  if (device != "mps") {
    return red(name, value, "The result is not on the device that it was asked for.",
               "Look for code that patches torch (see the gate on injections).");
  }
  if (!(difference <= kTolerance * largest)) {
    return red(name, value, "The device computes wrongly: the CPU has another result.",
               "Do not train on it. Try another release of PyTorch or of macOS, and report it.");
  }
  return green(name, value);
}

Gate simulated_mac(const DoctorFacts& facts) {
  const json& device = document::member(facts.python, "device");
  if (!device.is_object() || device.contains("error")) return green("mac", "none is simulated");
  const double limit = document::number_in(device, "limit_bytes").value_or(0);
  const std::string room =
      limit > 0 ? fmt::format(", with {} for tensors", base::human_bytes(static_cast<std::uint64_t>(limit))) : "";
  return green("mac",
               fmt::format("{} ({}) is simulated{}", facts.mac.empty() ? "one of this machine's size" : facts.mac,
                           document::string_in(device, "name", "unnamed"), room),
               facts.mac.empty() ? "--mac simulates one of those that anymps macs lists." : "");
}

// --- what surrounds it -----------------------------------------------------------------------------------------------

// Variables that change what a training computes, or how fast.
struct Telling {
  const char* name;
  const char* value;  // "" for any that is set and not 0
  const char* why;
};
constexpr Telling kDoubtful[] = {
#include "doctor_variables.inc"
};

Gate variables(const DoctorFacts& facts) {
  std::vector<std::string> all;
  std::vector<std::string> doubtful;
  for (const auto& [name, value] : facts.variables) {
    all.push_back(name + "=" + value);
    for (const Telling& telling : kDoubtful) {
      const std::string_view wanted = telling.value;
      if (name == telling.name && (wanted.empty() ? !value.empty() && value != "0" : value == wanted)) {
        doubtful.push_back(fmt::format("{}={}: {}", name, value, telling.why));
      }
    }
  }
  const std::string value = all.empty() ? "none that matters is set" : fmt::format("{}", fmt::join(all, " "));
  if (doubtful.empty()) return green("environment variables", value);
  return yellow("environment variables", value, fmt::format("{}.", fmt::join(doubtful, "; ")),
                "Unset what is not meant, and note the rest beside the figures.");
}

std::optional<std::uint64_t> variable_number(const DoctorFacts& facts, std::string_view name) {
  const auto found =
      std::ranges::find(facts.variables, name, [](const auto& one) { return std::string_view(one.first); });
  return found != facts.variables.end() ? gpu::support::whole_number<std::uint64_t>(found->second) : std::nullopt;
}

Gate threads(const DoctorFacts& facts) {
  const std::string name = "threads";
  const json& threads = document::member(facts.python, "threads");
  if (!threads.is_object() || threads.contains("error")) return green(name, "torch does not tell");
  const auto operators = static_cast<unsigned>(document::number_in(threads, "operators").value_or(0));
  const unsigned cores = facts.machine.cores_allowed;
  std::string value = fmt::format("{} within one operator (by {}), {} to run operators side by side", operators,
                                  document::string_in(threads, "backend", "unknown backend"),
                                  document::number_in(threads, "between_operators").value_or(0));
  for (const auto& [library, count] : document::member(threads, "libraries").items()) {
    value += fmt::format(", {} of {}", count.get<unsigned>(), library == "omp" ? "OpenMP" : "MKL");
  }
  value += fmt::format("; {} of {} cores are allowed", cores, facts.machine.cores);
  if (operators > cores) {
    return yellow(name, value, "There are more threads than cores: they wait for one another.",
                  fmt::format("Set OMP_NUM_THREADS={}.", cores));
  }
  if (operators == 1 && cores > 1) {
    return yellow(name, value, "Everything that runs on the CPU, the input too, has one thread.",
                  "Unset OMP_NUM_THREADS, or write it beside the figures.");
  }
  const auto omp = variable_number(facts, "OMP_NUM_THREADS");
  for (const char* other : {"MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"}) {
    const auto count = variable_number(facts, other);
    if (omp && count && *omp != *count) {
      return yellow(name, fmt::format("{}; OMP_NUM_THREADS={}, {}={}", value, *omp, other, *count),
                    "OpenMP and the BLAS library are told different numbers.", "Set them to the same number.");
    }
  }
  return green(name, value);
}

Gate injected(const DoctorFacts& facts) {
  const std::string name = "injections";
  const json& found = document::member(facts.python, "injections");
  std::vector<std::string> all;
  const auto add = [&](const char* key, const char* what) {
    for (const std::string& path : texts_at(found, key)) all.push_back(fmt::format("{} {}", what, path));
  };
  add("pythonpath", "PYTHONPATH names");
  add("folders", "on the path is");
  add("customize", "run at the start is");
  const std::vector<std::string> code = texts_at(found, "code");
  for (const std::string& file : code) {
    // setuptools puts this one into every environment.
    if (!file.ends_with("distutils-precedence.pth")) all.push_back(fmt::format("run at the start is {}", file));
  }
  if (all.empty()) return green(name, "none");
  return yellow(name, fmt::format("{}", fmt::join(all, "; ")),
                "Code from outside of the environment comes first, and does not go along to another machine.",
                "Unset PYTHONPATH, or install what it brings as a package.");
}

Gate descriptors(const DoctorFacts& facts) {
  const std::string name = "file descriptors";
  if (!facts.descriptors) return green(name, kNotTold);
  const std::string value =
      *facts.descriptors > (std::uint64_t{1} << 40) ? "no limit" : std::to_string(*facts.descriptors);
  const char* why = "Each worker of a loader takes several for its queues, and each tensor that it sends may take one.";
  const char* remedy = "Raise it in the shell that starts the training: ulimit -n 4096.";
  if (*facts.descriptors < kTooFewDescriptors) return red(name, value, why, remedy);
  if (*facts.descriptors < kFewDescriptors) return yellow(name, value, why, remedy);
  return green(name, value);
}

Gate start_method(const DoctorFacts& facts) {
  const std::string name = "start method";
  const std::string method = document::string_in(facts.python, "start_method", "unknown");
  if (facts.on_mac && method == "fork") {
    return yellow(name, method, "A fork after MPS was used can hang: Metal does not survive it.",
                  "Take spawn, which is the default on a Mac: multiprocessing.set_start_method('spawn').");
  }
  if (!facts.on_mac && method != "spawn") {
    return green(name, method, "A Mac takes spawn: what a loader's workers are given must be picklable there.");
  }
  return green(name, method);
}

Gate memory(const DoctorFacts& facts) {
  const std::string name = "memory";
  const std::uint64_t all = std::min(facts.machine.memory_bytes, facts.machine.cgroup_limit_bytes.value_or(UINT64_MAX));
  const std::string of = facts.machine.cgroup_limit_bytes
                             ? fmt::format("{} (the limit of the control group)", base::human_bytes(all))
                             : base::human_bytes(all);
  if (!facts.memory_free) return green(name, of);
  const std::string value = fmt::format("{} free of {}", base::human_bytes(*facts.memory_free), of);
  const char* why = "A Mac's one memory is shared with everything else that runs; what is taken, a batch cannot have.";
  const char* remedy = "Close browsers, conferences and editors, or use a machine that nothing else runs on.";
  if (*facts.memory_free < kTooLittleMemory) return red(name, value, why, remedy);
  if (*facts.memory_free < std::min(kLittleMemory, all / 2)) return yellow(name, value, why, remedy);
  return green(name, value);
}

Gate caches(const DoctorFacts& facts) {
  const std::string name = "caches";
  std::vector<std::string> all;
  std::vector<std::string> remote;
  std::vector<std::string> full;
  for (const host::CacheMount& cache : facts.caches) {
    all.push_back(fmt::format("{} on {}", cache.name, cache.type.empty() ? "an unknown mount" : cache.type));
    if (cache.network) remote.push_back(fmt::format("{} ({})", cache.path.string(), cache.type));
    if (cache.free_bytes && *cache.free_bytes < kLittleDisk) {
      full.push_back(fmt::format("{} ({} left)", cache.path.string(), base::human_bytes(*cache.free_bytes)));
    }
  }
  const std::string value = fmt::format("{}", fmt::join(all, ", "));
  if (!remote.empty()) {
    return yellow(name, value, fmt::format("On a network: {}. Loading waits for it.", fmt::join(remote, ", ")),
                  "Point TORCH_HOME, HF_HOME or XDG_CACHE_HOME at a local disk.");
  }
  if (!full.empty()) {
    return yellow(name, value, fmt::format("Nearly full: {}.", fmt::join(full, ", ")), "Make room.");
  }
  return green(name, value);
}

Gate adapter(const DoctorFacts& facts) {
  const std::string name = "power adapter";
  if (!facts.power.on_mains) return green(name, kNotTold);
  if (*facts.power.on_mains) return green(name, "connected");
  return yellow(
      name,
      facts.power.battery_share ? fmt::format("on battery, {:.0f}%", 100 * *facts.power.battery_share) : "on battery",
      "On battery a laptop lowers its clocks, and figures fall with the charge.", "Plug it in.");
}

Gate low_power(const DoctorFacts& facts) {
  const std::string name = "low-power mode";
  if (!facts.power.low_power_mode) return green(name, kNotTold);
  if (!*facts.power.low_power_mode) return green(name, "off");
  return yellow(name, "on", "The system keeps the clocks low.",
                facts.on_mac ? "Switch it off in the settings (Battery, Low Power Mode)."
                             : "Choose another profile: powerprofilesctl set balanced.");
}

Gate thermal(const DoctorFacts& facts) {
  const std::string name = "thermal state";
  std::vector<std::string> told;
  if (facts.thermal.celsius) told.push_back(fmt::format("{:.0f} °C", *facts.thermal.celsius));
  if (facts.thermal.speed_limit)
    told.push_back(fmt::format("{:.0f}% of the speed allowed", 100 * *facts.thermal.speed_limit));
  if (told.empty() && !facts.thermal.text.empty()) told.push_back(facts.thermal.text);
  if (told.empty()) return green(name, kNotTold);
  const std::string value = fmt::format("{}", fmt::join(told, ", "));
  const double limit = facts.thermal.speed_limit.value_or(1);
  const char* remedy = "Let it cool down, and measure again.";
  if (limit < 0.5) return red(name, value, "The processor is held at less than half of its speed.", remedy);
  if (limit < 0.995 || facts.thermal.celsius.value_or(0) >= kHot) {
    return yellow(name, value, "The processor is slowed down for its heat; figures are lower than they would be.",
                  remedy);
  }
  return green(name, value);
}

Gate swap(const DoctorFacts& facts) {
  const std::string name = "swap";
  if (!facts.swap) return green(name, kNotTold);
  if (facts.swap->total_bytes == 0 && facts.swap->used_bytes == 0) return green(name, "none is in use");
  const std::string value = fmt::format("{} of {} in use", base::human_bytes(facts.swap->used_bytes),
                                        base::human_bytes(facts.swap->total_bytes));
  const double share = static_cast<double>(facts.swap->used_bytes) /
                       static_cast<double>(std::max<std::uint64_t>(1, facts.machine.memory_bytes));
  const char* why = "Memory is short already: a training's tensors would go to the disk and back.";
  const char* remedy = "Close what takes memory, or restart; then look again.";
  if (share > kTooMuchSwap) return red(name, value, why, remedy);
  if (share > kMuchSwap) return yellow(name, value, why, remedy);
  return green(name, value);
}

Gate load(const DoctorFacts& facts) {
  const std::string name = "load";
  if (!facts.load) return green(name, kNotTold);
  const std::string value =
      fmt::format("{:.1f} processes over the last minute, for {} cores", *facts.load, facts.machine.cores);
  if (*facts.load > kBusyLoad * facts.machine.cores) {
    return yellow(name, value, "Others are at work here; figures will vary with what they do.",
                  "Wait until they are done, or use a machine that nothing else runs on.");
  }
  return green(name, value);
}

Gate container(const DoctorFacts& facts) {
  const std::string name = "container";
  if (facts.container.empty()) return green(name, "none");
  // Kernels that are made for the virtual machines under containers on a Mac.
  for (const char* mark : {"linuxkit", "orbstack"}) {
    if (facts.machine.kernel.find(mark) == std::string::npos) continue;
    return yellow(name, fmt::format("{} on {}", facts.container, facts.machine.kernel),
                  "This is Linux in a virtual machine on a Mac. Metal does not reach into it: the device here is "
                  "simulated on the CPU, and the Mac's GPU stays idle.",
                  "For the GPU, run on macOS itself, outside of the container.");
  }
  return green(
      name, facts.container,
      "On a Mac a container is Linux in a virtual machine, into which Metal does not reach; memory and cores are "
      "those that the container is given.");
}

}  // namespace

std::vector<Gate> doctor_gates(const DoctorFacts& facts) {
  if (facts.python.contains("error")) {
    return {red("python", document::string_in(facts.python, "error"),
                "The interpreter or torch crashed, or did not answer in two minutes.",
                "Start it by hand with `import torch`, and look at what it says."),
            container(facts), memory(facts), swap(facts)};
  }
  std::vector<Gate> gates = {architecture(facts),   python_version(facts), torch_build(facts), wheel(facts),
                             system_version(facts), built(facts),          available(facts),   product(facts)};
  if (is_simulated(facts)) gates.push_back(simulated_mac(facts));
  for (const auto gate : {variables, threads, injected, descriptors, start_method, container, memory, caches, adapter,
                          low_power, thermal, swap, load}) {
    gates.push_back(gate(facts));
  }
  return gates;
}

}  // namespace anymps::lab::runbook::doctor
