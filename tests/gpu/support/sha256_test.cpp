#include "gpu/support/sha256.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace anymps::gpu::support {
namespace {

std::string hex(const Digest& digest) {
  std::string text;
  char digits[3];
  for (const std::byte byte : digest) {
    std::snprintf(digits, sizeof digits, "%02x", std::to_integer<unsigned>(byte));
    text += digits;
  }
  return text;
}

std::string hash_of(std::string_view text) { return hex(Sha256().update(std::as_bytes(std::span(text))).finish()); }

// The examples of FIPS 180-4, as NIST publishes them.
TEST(Sha256Test, PublishedVectors) {
  EXPECT_EQ(hash_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hash_of("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsm"
                    "nopqrstnopqrstu"),
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(hash_of(std::string(1'000'000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Around the end of a block, where the length no longer fits behind the text.
TEST(Sha256Test, LengthsAroundABlock) {
  EXPECT_EQ(hash_of(std::string(55, 'a')), "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  EXPECT_EQ(hash_of(std::string(56, 'a')), "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
  EXPECT_EQ(hash_of(std::string(63, 'a')), "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34");
  EXPECT_EQ(hash_of(std::string(64, 'a')), "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
  EXPECT_EQ(hash_of(std::string(65, 'a')), "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0");
}

TEST(Sha256Test, PiecesHashAsTheWhole) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += static_cast<char>(i);
  const auto bytes = std::as_bytes(std::span(text));
  for (std::size_t first = 0; first <= bytes.size(); ++first) {
    const std::size_t second = (bytes.size() - first) / 2;
    Sha256 hash;
    hash.update(bytes.first(first)).update(bytes.subspan(first, second)).update(bytes.subspan(first + second));
    EXPECT_EQ(hex(hash.finish()), hash_of(text)) << first;
  }
}

}  // namespace
}  // namespace anymps::gpu::support
