// How far the formulas of lower/elementary.cpp are from the true values, over the floats.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "air_text.h"
#include "metal/pipeline.h"

namespace anymps::metal {
namespace {

using testing::AirText;
using testing::OwnedFunction;

std::vector<float> outputs_of(const std::string& name, std::vector<float>& in, bool coroutines = false) {
  const std::string function_name = "@air." + name + ".f32(float";
  const AirText air =
      testing::unary("declare float " + function_name + ")", "  %y = call float " + function_name + " %x)\n");
  const OwnedFunction function(air);
  std::vector<float> out(in.size());
  Launch launch;
  launch.buffers[0] = out.data();
  launch.buffers[1] = in.data();
  make_pipeline(function.entry, {.constants = {}, .force_coroutines = coroutines})
      ->launch(launch, {static_cast<std::uint32_t>(in.size()), 1, 1}, {256, 1, 1});
  return out;
}

// In units of the last place of the true value.
double error_of(float got, double truth) {
  const auto nearest = static_cast<float>(truth);
  if (std::isnan(truth)) return std::isnan(got) ? 0 : std::numeric_limits<double>::infinity();
  if (got == nearest) return 0;
  if (!std::isfinite(got) || !std::isfinite(nearest)) return std::numeric_limits<double>::infinity();
  const double step = std::nextafter(std::fabs(nearest), std::numeric_limits<float>::infinity()) - std::fabs(nearest);
  return std::fabs(got - truth) / step;
}

struct Function {
  const char* name;
  double (*truth)(double);
  double most;  // units in the last place
};

class Elementary : public ::testing::TestWithParam<Function> {};

TEST_P(Elementary, IsCloseOverTheFloats) {
  std::vector<float> in = {0.0F,
                           -0.0F,
                           1.0F,
                           -1.0F,
                           std::numeric_limits<float>::infinity(),
                           -std::numeric_limits<float>::infinity(),
                           std::nanf(""),
                           0x1p-149F,
                           -0x1p-149F,
                           0x1p-126F,
                           88.72283F,
                           88.7229F,
                           -103.9F,
                           -104.1F,
                           128.0F,
                           -149.0F,
                           -150.5F,
                           0.625F,
                           1e30F};
  constexpr std::uint32_t kStep = 3989;  // a prime: every exponent, and all kinds of fractions
  for (std::uint64_t bits = 0; bits <= 0xFFFFFFFF; bits += kStep) {
    in.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  // Most of the floats are far from where the functions turn.
  for (int i = -200000; i <= 200000; ++i) in.push_back(static_cast<float>(i) * 5e-4F);
  const std::vector<float> out = outputs_of(GetParam().name, in);
  double worst = 0;
  float where = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const double error = error_of(out[i], GetParam().truth(in[i]));
    if (error > worst) {
      worst = error;
      where = in[i];
    }
  }
  EXPECT_LE(worst, GetParam().most) << "at " << where;
  RecordProperty("worst", std::to_string(worst));
}

// Threads of a loop are vectorised, coroutines are not.
TEST_P(Elementary, IsTheSameOnBothRoutes) {
  std::vector<float> in;
  for (int i = -20000; i <= 20000; ++i) in.push_back(static_cast<float>(i) * 5e-3F);
  const std::vector<float> loop = outputs_of(GetParam().name, in);
  const std::vector<float> coroutines = outputs_of(GetParam().name, in, /*coroutines=*/true);
  for (std::size_t i = 0; i < in.size(); ++i) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(loop[i]), std::bit_cast<std::uint32_t>(coroutines[i])) << in[i];
  }
}

INSTANTIATE_TEST_SUITE_P(All, Elementary,
                         ::testing::Values(Function{"exp", std::exp, 1.0}, Function{"exp2", std::exp2, 1.0},
                                           Function{"exp10", [](double x) { return std::pow(10.0, x); }, 2.0},
                                           Function{"log", std::log, 1.0}, Function{"log2", std::log2, 2.0},
                                           Function{"log10", std::log10, 2.0}, Function{"tanh", std::tanh, 2.0},
                                           Function{"fast_exp", std::exp, 1.0}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace anymps::metal
