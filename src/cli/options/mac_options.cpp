#include "cli/options/mac_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "gpu/history/operator_history.h"
#include "lab/base/log.h"
#include "lab/coverage/screen.h"

namespace anymps::cli::options {
namespace {

std::string or_variable(const std::string& given, const char* name) {
  if (!given.empty()) return given;
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

unsigned newest_known_macos() {
  unsigned newest = gpu::history::kDefaultMacos.major;
  for (const gpu::history::MacProfile& mac : gpu::history::all_macs()) {
    newest = std::max(newest, static_cast<unsigned>(mac.newest_macos.value));
  }
  return newest;
}

}  // namespace

void MacChoice::add_mac(CLI::App& verb) {
  verb.add_option("--mac", mac, "Simulate this Mac, such as m2-8gb (anymps macs lists them)")->type_name("MAC");
}

void MacChoice::add_macos(CLI::App& verb) {
  verb.add_option("--macos", macos, "What version checks see, such as 14.5 (otherwise 26.0)")->type_name("VERSION");
}

void MacChoice::add_as_torch(CLI::App& verb) {
  verb.add_option("--as-torch", torch,
                  "Be that release of PyTorch: refuse what it lacks on MPS, and take memory by its rules, such as 2.8")
      ->type_name("RELEASE");
}

void MacChoice::add_platform(CLI::App& verb) {
  verb.add_option(
          "--platform", platform,
          "mac: Python's platform module and sysctl answer as on a Mac; linux: to nobody, not even to libraries "
          "that are known to ask")
      ->type_name("mac|linux")
      ->check(CLI::IsMember({"mac", "linux"}).description(""));
}

std::optional<gpu::history::ChosenMac> MacChoice::resolve() const {
  if (const std::string asked = or_variable(torch, "ANYMPS_AS_TORCH");
      !asked.empty() && !gpu::history::torch_release(asked)) {
    lab::base::log().error("no release of PyTorch `{}` is known; there are {}", asked, lab::coverage::known_releases());
    return std::nullopt;
  }
  try {
    const gpu::history::ChosenMac chosen =
        gpu::history::choose_mac(or_variable(mac, "ANYMPS_MAC"), or_variable(macos, "ANYMPS_MACOS"));
    if (chosen.mac && chosen.macos.major < static_cast<unsigned>(chosen.mac->first_macos.value)) {
      lab::base::log().warn("{} is not known to have run macOS {} (from {} on); going on with its figures",
                            chosen.mac->name, chosen.macos.text(), chosen.mac->first_macos.value);
    }
    if (const unsigned newest = newest_known_macos(); chosen.macos.major > newest) {
      lab::base::log().warn("macOS {} is not known here; the newest is {}, and its figures are used",
                            chosen.macos.text(), newest);
    }
    return chosen;
  } catch (const std::invalid_argument& error) {
    lab::base::log().error(error.what());
    return std::nullopt;
  }
}

void MacChoice::put_into(std::map<std::string, std::string>& environment) const {
  if (!mac.empty()) environment["ANYMPS_MAC"] = mac;
  if (!macos.empty()) environment["ANYMPS_MACOS"] = macos;
  if (!torch.empty()) environment["ANYMPS_AS_TORCH"] = torch;
  if (!platform.empty()) environment["ANYMPS_PLATFORM"] = platform;
}

}  // namespace anymps::cli::options
