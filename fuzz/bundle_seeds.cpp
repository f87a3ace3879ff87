// Writes the seeds of bundle_fuzz into the folder that is named: whole bundles, from which the fuzzer breaks off. Each
// is there plain, so that changes reach what is inside, and compressed, as people have them.
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "lab/runbook/handoff/bundle_reader.h"
#include "lab/runbook/handoff/bundle_writer.h"

int main(int count, char** words) {
  using namespace anymps::lab::runbook::handoff;
  if (count != 2) return 2;
  const std::filesystem::path folder = words[1];
  std::filesystem::create_directories(folder);
  const auto write = [&](const std::string& name, const Manifest& manifest, std::vector<PackedFile> files) {
    const std::filesystem::path compressed = folder / (name + ".tar.zst");
    write_bundle(compressed, manifest, std::move(files), 0);
    write_plain_tar(compressed, read_bundle(compressed, {}), folder / (name + ".tar"));
  };
  Manifest manifest;
  write("empty", manifest, {});
  manifest.golden.words = {"train.py"};
  manifest.golden.given = {"python", "train.py"};
  manifest.golden.folder = "files";
  write("one", manifest, {{"golden.json", {}, "{\"command\": [\"python\", \"train.py\"]}"}});
  write("three", manifest,
        {{"environment.json", {}, "{}"}, {"files/train.py", {}, "print(1)\n"}, {"data/a/b", {}, "12"}});
  // A name that takes a pax header of its own.
  write("long", manifest, {{"files/" + std::string(90, 'a') + "/" + std::string(90, 'b'), {}, "1"}});
  return 0;
}
