#include "lab/host/cache_folders.h"

#include <cstdlib>
#include <system_error>
#include <utility>

#include "gpu/cache/cache_folder.h"
#include "lab/host/platform.h"

namespace anymps::lab::host {
namespace {

namespace fs = std::filesystem;

fs::path folder_in(const char* variable, const fs::path& otherwise) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0' ? fs::path(value) : otherwise;
}

std::optional<std::uint64_t> free_bytes(fs::path path) {
  std::error_code error;
  while (!fs::exists(path, error) && path.has_relative_path()) path = path.parent_path();
  const fs::space_info space = fs::space(path, error);
  return error ? std::nullopt : std::optional<std::uint64_t>(space.available);
}

}  // namespace

std::vector<CacheMount> cache_mounts() {
  const fs::path home = folder_in("HOME", "/");
  const fs::path cache = folder_in("XDG_CACHE_HOME", home / ".cache");
  const fs::path hugging_face = folder_in("HF_HOME", cache / "huggingface");
  const char* user = std::getenv("USER");
  std::error_code error;
  const std::pair<const char*, fs::path> folders[] = {
      {"torch", folder_in("TORCH_HOME", cache / "torch")},
      {"inductor", folder_in("TORCHINDUCTOR_CACHE_DIR", fs::temp_directory_path(error) /
                                                            (std::string("torchinductor_") + (user ? user : "root")))},
      {"hugging face", folder_in("HF_HUB_CACHE", hugging_face / "hub")},
      {"hugging face datasets", folder_in("HF_DATASETS_CACHE", hugging_face / "datasets")},
      {"anymps", gpu::cache::CacheFolder::of_this_user().path()}};
  std::vector<CacheMount> mounts;
  for (const auto& [name, path] : folders) {
    if (path.empty()) continue;
    CacheMount mount{name, path, Platform::here().mount_type(path), false, free_bytes(fs::absolute(path, error))};
    mount.network = is_network_mount(mount.type);
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

}  // namespace anymps::lab::host
