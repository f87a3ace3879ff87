#include "lab/runbook/parity/ulps.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace anymps::lab::runbook::parity {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Elements floats(const std::vector<float>& values) { return {ElementKind::kFloat32, std::as_bytes(std::span(values))}; }

Elements words(ElementKind kind, const std::vector<std::uint16_t>& values) {
  return {kind, std::as_bytes(std::span(values))};
}

TEST(Ulps, CountsTheStepsBetweenFloats) {
  const float next = std::nextafter(1.0F, 2.0F);
  EXPECT_EQ(ulps_between(ElementKind::kFloat32, 1.0, 1.0), 0U);
  EXPECT_EQ(ulps_between(ElementKind::kFloat32, 1.0, next), 1U);
  EXPECT_EQ(ulps_between(ElementKind::kFloat32, next, 1.0), 1U);
  EXPECT_EQ(ulps_between(ElementKind::kFloat32, 1.0, 2.0), 1U << 23);
  EXPECT_EQ(ulps_between(ElementKind::kFloat64, 1.0, std::nextafter(1.0, 0.0)), 1U);
}

TEST(Ulps, GoesThroughZeroWithoutAJump) {
  const float least = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(ulps_between(ElementKind::kFloat32, 0.0, -0.0), 0U);
  EXPECT_EQ(ulps_between(ElementKind::kFloat32, -least, least), 2U);
  EXPECT_EQ(ulps_between(ElementKind::kFloat64, -1.7976931348623157e308, 1.7976931348623157e308),
            2 * 0x7fefffffffffffffULL);
}

TEST(Ulps, HasInfinityBesideTheLargest) {
  EXPECT_EQ(ulps_between(ElementKind::kFloat32, std::numeric_limits<float>::max(), kInfinity), 1U);
}

TEST(Ulps, KnowsTheShortFormats) {
  EXPECT_EQ(ulps_between(ElementKind::kFloat16, 1.0, 1.0 + std::ldexp(1, -10)), 1U);
  EXPECT_EQ(ulps_between(ElementKind::kBFloat16, 1.0, 1.0 + std::ldexp(1, -7)), 1U);
  EXPECT_EQ(ulps_between(ElementKind::kFloat16, 0.0, std::ldexp(3, -24)), 3U);
  EXPECT_EQ(ulps_between(ElementKind::kInteger, -2, 5), 7U);

  const std::vector<std::uint16_t> halves = {0x3c00, 0xc000, 0x0001, 0x7bff, 0x7c00, 0x7e00};
  const Elements half = words(ElementKind::kFloat16, halves);
  EXPECT_EQ(half.at(0), 1.0);
  EXPECT_EQ(half.at(1), -2.0);
  EXPECT_EQ(half.at(2), std::ldexp(1, -24));
  EXPECT_EQ(half.at(3), 65504.0);
  EXPECT_TRUE(std::isinf(half.at(4)));
  EXPECT_TRUE(std::isnan(half.at(5)));
  const std::vector<std::uint16_t> brains = {0x3f80, 0xc000};
  EXPECT_EQ(words(ElementKind::kBFloat16, brains).at(0), 1.0);
  EXPECT_EQ(words(ElementKind::kBFloat16, brains).at(1), -2.0);
}

TEST(Ulps, TellsHowFarTensorsAreApart) {
  const std::vector<float> left = {100, 1, 0};
  const std::vector<float> right = {100, 1.5, 0};
  const Difference difference = difference_between(floats(left), floats(right));
  EXPECT_EQ(difference.elements, 3U);
  EXPECT_EQ(difference.max_ulps, 1U << 22);
  EXPECT_DOUBLE_EQ(difference.max_absolute, 0.5);
  EXPECT_DOUBLE_EQ(difference.max_relative, 0.005);  // of 100
  EXPECT_DOUBLE_EQ(difference.max_element_relative, 0.5 / 1.5);
  EXPECT_EQ(difference.not_finite, 0U);
}

TEST(Ulps, TakesSharedInfinitiesForEqual) {
  const std::vector<float> both = {kInfinity, kNan, -kInfinity, 1};
  const Difference same = difference_between(floats(both), floats(both));
  EXPECT_EQ(same.not_finite, 0U);
  EXPECT_EQ(same.max_ulps, 0U);

  const std::vector<float> other = {-kInfinity, 2, kNan, 1};
  const Difference apart = difference_between(floats(both), floats(other));
  EXPECT_EQ(apart.not_finite, 3U);
  EXPECT_EQ(apart.max_absolute, 0);  // they do not drown the rest
}

TEST(Ulps, ComparesDifferentKindsByValueAlone) {
  const std::vector<float> left = {1, 2};
  const std::vector<std::uint16_t> right = {0x3c00, 0x4000};
  const Difference difference = difference_between(floats(left), words(ElementKind::kFloat16, right));
  EXPECT_FALSE(difference.max_ulps);
  EXPECT_EQ(difference.max_absolute, 0);
}

TEST(Ulps, OfTensorsOfZerosAreNone) {
  const std::vector<float> zeros = {0, -0.0F};
  EXPECT_EQ(difference_between(floats(zeros), floats(zeros)).max_relative, 0);
  EXPECT_EQ(difference_between(floats({}), floats({})).elements, 0U);
}

TEST(Ulps, KnowsWhatItCannotCompare) {
  EXPECT_EQ(element_kind("bfloat16"), ElementKind::kBFloat16);
  EXPECT_FALSE(element_kind("float8_e4m3fn"));
}

}  // namespace
}  // namespace anymps::lab::runbook::parity
