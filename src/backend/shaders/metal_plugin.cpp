#include "backend/shaders/metal_plugin.h"

#include <c10/util/Exception.h>
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "gpu/executor.h"

namespace anymps::backend::shaders {
namespace {

std::atomic<bool> validated{false};

// It lies above this library, which has a folder for its release of PyTorch, wherever that was installed.
std::filesystem::path above_this_library(const char* name) {
  Dl_info here{};
  TORCH_CHECK(dladdr(reinterpret_cast<void*>(&above_this_library), &here) != 0, "anymps: cannot tell where it lies");
  return std::filesystem::path(here.dli_fname).parent_path().parent_path() / name;
}

metal::Plugin& open() {
  const std::filesystem::path path = above_this_library("libanymps_metal.so");
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  TORCH_CHECK(library != nullptr, "anymps: shaders need ", path.filename().string(),
              ", which cannot be opened: ", dlerror());
  auto* open_plugin = reinterpret_cast<metal::OpenPlugin>(dlsym(library, metal::kPluginSymbol));
  metal::Plugin* plugin = open_plugin != nullptr ? open_plugin(metal::kPluginVersion) : nullptr;
  TORCH_CHECK(plugin != nullptr, "anymps: ", path.filename().string(), " is of another version; install anymps again");
  plugin->set_executor(&gpu::executor());
  return *plugin;
}

}  // namespace

metal::Plugin& metal_plugin() {
  static metal::Plugin& plugin = open();
  return plugin;
}

void validate_launches(bool wanted) { validated.store(wanted); }
bool launches_are_validated() { return validated.load(); }

bool validation_is_on() {
  const char* variable = std::getenv("ANYMPS_VALIDATE");
  return launches_are_validated() || (variable != nullptr && *variable != '\0' && std::string_view(variable) != "0");
}

}  // namespace anymps::backend::shaders
