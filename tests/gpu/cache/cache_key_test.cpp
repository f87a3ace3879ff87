#include "gpu/cache/cache_key.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "gpu/support/code_version.h"

namespace anymps::gpu::cache {
namespace {

std::string key_of(std::string_view kind, std::string_view input, std::string_view options, std::string_view target,
                   std::string_view version) {
  return CacheKey({kind, std::as_bytes(std::span(input)), options, target, version}).hex();
}

TEST(CacheKeyTest, EveryPartCounts) {
  const std::set<std::string> keys = {
      key_of("k", "i", "o", "t", "v"), key_of("K", "i", "o", "t", "v"), key_of("k", "I", "o", "t", "v"),
      key_of("k", "i", "O", "t", "v"), key_of("k", "i", "o", "T", "v"), key_of("k", "i", "o", "t", "V"),
  };
  EXPECT_EQ(keys.size(), 6U);
  EXPECT_EQ(key_of("k", "i", "o", "t", "v"), key_of("k", "i", "o", "t", "v"));
}

TEST(CacheKeyTest, PartsDoNotRunIntoEachOther) {
  EXPECT_NE(key_of("ab", "c", "", "", ""), key_of("a", "bc", "", "", ""));
  EXPECT_NE(key_of("", "", "a", "", ""), key_of("", "", "", "a", ""));
}

TEST(CacheKeyTest, IsTheHashOfItsParts) {
  const std::string hex = key_of("a", "", "b", "", "");
  EXPECT_EQ(hex.size(), 64U);
  // Lengths of eight bytes, each followed by its part.
  const std::string flat("\1\0\0\0\0\0\0\0a\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0b\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 42);
  const support::Digest digest = support::Sha256().update(std::as_bytes(std::span(flat))).finish();
  EXPECT_EQ(CacheKey({"a", {}, "b", {}, {}}).digest(), digest);
}

TEST(CodeVersionTest, NamesTheLibraryOfAnAddress) {
  static const int here = 0;
  const std::string ours = support::version_of_code(&here);
  EXPECT_TRUE(ours.starts_with(ANYMPS_VERSION "+")) << ours;
  EXPECT_GT(ours.size(), sizeof ANYMPS_VERSION + 8) << ours;
  EXPECT_EQ(ours, support::version_of_code(&here));
  const void* const elsewhere = ::dlsym(RTLD_DEFAULT, "qsort");
  ASSERT_NE(elsewhere, nullptr);
  EXPECT_NE(ours, support::version_of_code(elsewhere));
}

}  // namespace
}  // namespace anymps::gpu::cache
