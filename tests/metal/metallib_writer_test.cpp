#include "metal/library/metallib_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "container.h"
#include "gpu/support/sha256.h"

namespace anymps::metal {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> text_bytes(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

library::FunctionEntry function(const std::string& name, const std::string& bitcode) {
  library::FunctionEntry entry;
  entry.name = name;
  entry.bitcode = text_bytes(bitcode);
  entry.versions = {2, 6, 3, 1};
  return entry;
}

std::uint16_t half_at(const ByteVector& bytes, std::size_t at) {
  return static_cast<std::uint16_t>(std::to_integer<unsigned>(bytes.at(at)) |
                                    std::to_integer<unsigned>(bytes.at(at + 1)) << 8U);
}

TEST(MetallibWriter, TheReaderTakesWhatItWrites) {
  const std::string add = "bitcode of add";
  const std::string shade = "pixels";
  std::vector<library::FunctionEntry> written = {function("add", add), function("shade", shade),
                                                 function("nothing", "")};
  written[1].type = library::FunctionType::kFragment;
  written[1].versions = {2, 8, 4, 0};
  const library::Metallib library = library::Metallib::from_bytes(library::write_metallib(written));
  ASSERT_EQ(library.functions().size(), written.size());
  for (std::size_t i = 0; i < written.size(); ++i) {
    const library::FunctionEntry& read = library.functions()[i];
    EXPECT_EQ(read.name, written[i].name);
    EXPECT_EQ(read.type, written[i].type);
    EXPECT_TRUE(std::ranges::equal(read.bitcode, written[i].bitcode)) << read.name;
    EXPECT_EQ(read.versions.air_minor, written[i].versions.air_minor);
    EXPECT_EQ(read.versions.metal_major, written[i].versions.metal_major);
    const gpu::support::Digest hash = gpu::support::Sha256().update(written[i].bitcode).finish();
    EXPECT_TRUE(std::ranges::equal(read.hash, hash, {}, {}, [](std::byte b) { return std::to_integer<unsigned>(b); }));
  }
  EXPECT_TRUE(library::Metallib::from_bytes(library::write_metallib({})).functions().empty());
}

// tests/metal/container.h writes every hash as 32 times 0xab; the rest was laid out a second time there.
TEST(MetallibWriter, AgreesWithTheTestsOwnContainer) {
  const std::string add = "bitcode of add";
  const std::string mul = "more";
  const std::vector<library::FunctionEntry> functions = {function("add", add), function("mul", mul)};
  ByteVector written = library::write_metallib(functions);
  for (auto at = written.begin();;) {
    const std::string tag = "HASH";
    at = std::search(at, written.end(), text_bytes(tag).begin(), text_bytes(tag).end());
    if (at == written.end()) break;
    at += 6;
    std::fill_n(at, 32, std::byte{0xab});
  }
  EXPECT_EQ(written, container({{"add", add}, {"mul", mul}}));
}

TEST(MetallibWriter, RefusesNamesThatAReaderWouldRefuse) {
  for (const std::string& name : {std::string(), std::string("a\0b", 3), std::string(65535, 'n')}) {
    EXPECT_THROW(library::write_metallib(std::vector{function(name, "")}), library::MetallibError) << name.size();
  }
  EXPECT_NO_THROW(
      library::Metallib::from_bytes(library::write_metallib(std::vector{function(std::string(65534, 'n'), "")})));
  EXPECT_THROW(library::write_metallib(std::vector{function("twice", ""), function("twice", "")}),
               library::MetallibError);
}

TEST(MetallibWriter, SaysForWhichMacOs) {
  const ByteVector bytes = library::write_metallib({}, {.format_minor = 9, .macos_major = 26, .macos_minor = 1});
  EXPECT_EQ(half_at(bytes, 8), 9);
  EXPECT_EQ(half_at(bytes, 12), 26);
  EXPECT_EQ(half_at(bytes, 14), 1);
}

// Every byte: header, function list, metadata, bitcode. No tag of theirs is left out.
TEST(MetallibWriter, GenuineLibrariesComeOutAsTheyWere) {
  const char* folder = std::getenv("ANYMPS_GENUINE_KERNELS");
  if (folder == nullptr || *folder == 0) GTEST_SKIP() << "ANYMPS_GENUINE_KERNELS names no folder";
  for (const auto& file : fs::directory_iterator(folder)) {
    if (!file.path().filename().string().starts_with("torch-2.13.0-")) continue;
    if (file.path().extension() != ".metallib") continue;
    ByteVector whole(fs::file_size(file.path()));
    std::ifstream(file.path(), std::ios::binary)
        .read(reinterpret_cast<char*>(whole.data()), static_cast<std::streamsize>(whole.size()));
    const library::LibraryTarget target{half_at(whole, 8), half_at(whole, 12), half_at(whole, 14)};
    const library::Metallib library = library::Metallib::from_bytes(ByteVector(whole));
    const ByteVector written = library::write_metallib(library.functions(), target);
    ASSERT_EQ(written.size(), whole.size()) << file.path();
    const auto [ours, theirs] = std::ranges::mismatch(written, whole);
    EXPECT_EQ(ours - written.begin(), std::ssize(written)) << file.path() << ": the first byte that differs";
  }
}

}  // namespace
}  // namespace anymps::metal
