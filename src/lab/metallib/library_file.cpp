#include "lab/metallib/library_file.h"

#include <nlohmann/json.hpp>

#include "gpu/support/whole_file.h"

namespace anymps::lab::metallib {

MetalLibraryFile::MetalLibraryFile(const std::string& file, const std::vector<std::string>& flags) : path_(file) {
  if (!file.ends_with(".metal")) return;
  folder_.emplace(host::RunFolder::temporary());
  path_ = (folder_->path() / "compiled.metallib").string();
  MetalAnswer answer = ask_metal(metal_request("compile", flags, {file}));
  if (answer.answered) {
    gpu::support::write_whole(path_, answer.files);
    warnings_ = nlohmann::json::parse(answer.text).at("warnings");
  } else {
    problem_ = std::move(answer);
  }
}

std::vector<std::string> metal_request(const std::string& verb, const std::vector<std::string>& flags,
                                       const std::vector<std::string>& rest) {
  std::vector<std::string> request = {verb};
  request.insert(request.end(), flags.begin(), flags.end());
  request.insert(request.end(), rest.begin(), rest.end());
  return request;
}

}  // namespace anymps::lab::metallib
