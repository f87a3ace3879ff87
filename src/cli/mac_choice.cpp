#include "cli/mac_choice.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <stdexcept>

#include "lab/log.h"

namespace anymps::cli {
namespace {

std::string or_variable(const std::string& given, const char* name) {
  if (!given.empty()) return given;
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

void MacChoice::add_mac(CLI::App& verb) {
  verb.add_option("--mac", mac, "Play this Mac, such as m2-8gb (anymps macs lists them)")->type_name("MAC");
}

void MacChoice::add_macos(CLI::App& verb) {
  verb.add_option("--macos", macos, "What version checks see, such as 14.5 (otherwise 26.0)")->type_name("VERSION");
}

std::optional<gpu::ChosenMac> MacChoice::resolve() const {
  try {
    const gpu::ChosenMac chosen = gpu::choose_mac(or_variable(mac, "ANYMPS_MAC"), or_variable(macos, "ANYMPS_MACOS"));
    if (chosen.mac && chosen.macos.major < static_cast<unsigned>(chosen.mac->first_macos.value)) {
      lab::log().warn("{} is not known to have run macOS {} (from {} on); going on with its figures", chosen.mac->name,
                      chosen.macos.text(), chosen.mac->first_macos.value);
    }
    return chosen;
  } catch (const std::invalid_argument& error) {
    lab::log().error(error.what());
    return std::nullopt;
  }
}

void MacChoice::put_into(std::map<std::string, std::string>& environment) const {
  if (!mac.empty()) environment["ANYMPS_MAC"] = mac;
  if (!macos.empty()) environment["ANYMPS_MACOS"] = macos;
}

}  // namespace anymps::cli
