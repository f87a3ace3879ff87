// Run by the build: precompiles Metal's standard library for what torch.mps.compile_shader asks for.
//
//   precompile HEADERS IDENTITY    writes the two files that embedded.cpp puts into the library
#include <cstdio>
#include <exception>
#include <fstream>
#include <span>
#include <string>

#include "metal/frontend/precompiled.h"

namespace {

void write(const char* path, std::span<const std::byte> bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw std::runtime_error(std::string(path) + " cannot be written");
}

}  // namespace

int main(int count, char** arguments) {
  using namespace anymps::metal::frontend;
  if (count != 3) return std::fputs("usage: precompile HEADERS IDENTITY\n", stderr), 2;
  try {
    const SourceOptions options;
    const std::string identity = identity_of_headers(options);
    write(arguments[1], precompile_headers(options));
    write(arguments[2], std::as_bytes(std::span(identity.data(), identity.size())));
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "precompile: %s\n", error.what()), 1;
  }
  return 0;
}
