#include "gpu/support/byte_size.h"

#include <gtest/gtest.h>

namespace anymps::gpu::support {
namespace {

TEST(ByteSize, IsReadAsPeopleWriteIt) {
  EXPECT_EQ(parse_byte_size("4gb"), std::uint64_t{4} << 30);
  EXPECT_EQ(parse_byte_size("512 MiB"), std::uint64_t{512} << 20);
  EXPECT_EQ(parse_byte_size("1.5g"), std::uint64_t{3} << 29);
  EXPECT_EQ(parse_byte_size("1024"), 1024U);
  EXPECT_EQ(parse_byte_size("0"), 0U);
}

TEST(ByteSize, AnythingElseIsNone) {
  for (const char* wrong : {"", "gb", "four", "4gbb", "4xb", "-1gb", "nan", "1e30tb"}) {
    EXPECT_FALSE(parse_byte_size(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace anymps::gpu::support
