#include "superres/networks/network.h"

#include <fmt/format.h>

#include <stdexcept>

#include "superres/networks/edsr.h"
#include "superres/networks/plksr.h"
#include "superres/pictures/scale.h"

namespace anymps::superres::networks {

void NetworkOptions::check() const {
  if (kind != "edsr" && kind != "plksr" && kind != "realplksr") {
    throw std::invalid_argument(fmt::format("`{}` is none of the networks edsr, plksr and realplksr", kind));
  }
  pictures::check_scale(scale);
  if (width < 4 || width > 1024 || width % 4 != 0) {
    throw std::invalid_argument(fmt::format("width {} is no multiple of 4 from 4 to 1024", width));
  }
  if (blocks < 1 || blocks > 256)
    throw std::invalid_argument(fmt::format("{} blocks are not within 1 and 256", blocks));
  if (kernel < 3 || kernel > 63 || kernel % 2 == 0) {
    throw std::invalid_argument(fmt::format("kernel {} is no odd number from 3 to 63", kernel));
  }
}

nlohmann::json NetworkOptions::to_json() const {
  return {{"kind", kind},   {"scale", scale},   {"upsampler", name_of(upsampler)},
          {"width", width}, {"blocks", blocks}, {"kernel", kernel}};
}

NetworkOptions NetworkOptions::from_json(const nlohmann::json& json) {
  NetworkOptions options;
  options.kind = json.value("kind", options.kind);
  options.scale = json.value("scale", options.scale);
  options.upsampler = upsampler_from(json.value("upsampler", std::string(name_of(options.upsampler))));
  options.width = json.value("width", options.width);
  options.blocks = json.value("blocks", options.blocks);
  options.kernel = json.value("kernel", options.kernel);
  options.check();
  return options;
}

std::shared_ptr<Network> make_network(const NetworkOptions& options) {
  options.check();
  return options.kind == "edsr" ? make_edsr(options) : make_plksr(options);
}

}  // namespace anymps::superres::networks
