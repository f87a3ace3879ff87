#include "lab/base/json_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace anymps::lab::base {
namespace {

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(JsonText, WhatIsNestedTooDeepIsDiscarded) {
  EXPECT_TRUE(json_of(nested(100)).is_array());
  EXPECT_TRUE(json_of(nested(100'000)).is_discarded());
  EXPECT_TRUE(json_of(std::string(100'000, '[')).is_discarded());
  EXPECT_TRUE(json_of("{\"a\": " + nested(100'000) + "}").is_discarded());
}

TEST(JsonText, BracketsWithinTextsAreNoDepth) {
  EXPECT_TRUE(json_of("[\"" + std::string(1000, '[') + "\\\"" + std::string(1000, '{') + "\"]").is_array());
  EXPECT_TRUE(json_of("[" + std::string("\"\\\\\",") + nested(50) + "]").is_array());
}

TEST(JsonText, WhatIsNoJsonIsDiscarded) { EXPECT_TRUE(json_of("{").is_discarded()); }

}  // namespace
}  // namespace anymps::lab::base
