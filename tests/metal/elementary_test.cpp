// How far the formulas of lower/builtins/formulas.h are from the true values, over the floats.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "air_text.h"
#include "metal/engine/make_pipeline.h"
#include "metal/pipeline/pipeline.h"

namespace anymps::metal {
namespace {

using testing::AirText;
using testing::OwnedFunction;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> run_floats(const AirText& air, std::vector<float>& x, std::vector<float>& y,
                              const lower::LoweringOptions& options) {
  const OwnedFunction function(air);
  std::vector<float> out(x.size());
  pipeline::Launch launch;
  launch.buffers[0] = out.data();
  launch.buffers[1] = x.data();
  launch.buffers[2] = y.data();
  engine::make_pipeline(function.entry, options)
      ->launch(launch, {static_cast<std::uint32_t>(x.size()), 1, 1}, {256, 1, 1});
  return out;
}

std::vector<float> outputs_of(const std::string& name, std::vector<float>& in,
                              const lower::LoweringOptions& options = {}) {
  const std::string function = "@air." + name + ".f32(float";
  const AirText air = testing::unary("declare float " + function + ")", "  %y = call float " + function + " %x)\n");
  return run_floats(air, in, in, options);
}

AirText of_two(const std::string& name) {
  const std::string function = "@air." + name + ".f32(float";
  return AirText()
      .buffers(3)
      .builtin("thread_position_in_grid")
      .outside("declare float " + function + ", float)")
      .body(testing::kLoadOwn + std::string(R"(
  %second = getelementptr float, ptr addrspace(1) %b2, i64 %i
  %y = load float, ptr addrspace(1) %second, align 4
  %z = call float )") +
            function + " %x, float %y)\n  store float %z, ptr addrspace(1) %to, align 4\n  ret void\n");
}

std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }

// A thread loop, whose threads are vectorised by LLVM, against what is not, and what is vectorised here.
const lower::LoweringOptions kOtherRoutes[] = {{.constants = {}, .force_coroutines = true},
                                               {.constants = {}, .simdgroups = lower::vectorize::Simdgroups::kWhole}};

// In units of the last place of the true value.
double error_of(float got, double truth) {
  const auto nearest = static_cast<float>(truth);
  if (std::isnan(truth)) return std::isnan(got) ? 0 : std::numeric_limits<double>::infinity();
  if (got == nearest && std::signbit(got) == std::signbit(nearest)) return 0;
  if (got == nearest) return std::numeric_limits<double>::infinity();
  if (!std::isfinite(got) || !std::isfinite(nearest)) return std::numeric_limits<double>::infinity();
  const double step = std::nextafter(std::fabs(nearest), kInfinity) - std::fabs(nearest);
  return std::fabs(got - truth) / step;
}

struct Function {
  const char* name;
  double (*truth)(double);
  double most;  // units in the last place
};

class Elementary : public ::testing::TestWithParam<Function> {};

TEST_P(Elementary, IsCloseOverTheFloats) {
  std::vector<float> in = {0.0F,      -0.0F,      1.0F,      -1.0F,     kInfinity, -kInfinity, std::nanf(""),
                           0x1p-149F, -0x1p-149F, 0x1p-126F, 88.72283F, 88.7229F,  -103.9F,    -104.1F,
                           128.0F,    -149.0F,    -150.5F,   0.625F,    1e30F};
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

TEST_P(Elementary, IsTheSameOnAllRoutes) {
  std::vector<float> in;
  for (int i = -20000; i <= 20000; ++i) in.push_back(static_cast<float>(i) * 5e-3F);
  for (int i = 0; i < 20000; ++i) in.push_back(static_cast<float>(i) * 13.7F);  // far from zero, now and then
  in.resize(in.size() / 256 * 256);                                             // whole simdgroups
  const std::vector<float> loop = outputs_of(GetParam().name, in);
  for (const lower::LoweringOptions& options : kOtherRoutes) {
    const std::vector<float> other = outputs_of(GetParam().name, in, options);
    for (std::size_t i = 0; i < in.size(); ++i) ASSERT_EQ(bits_of(loop[i]), bits_of(other[i])) << in[i];
  }
}

// As IEEE 754 has them: a zero has the sign of x. Exact where the interpreter's are.
double sine_of_half_turns(double x) {
  const double turn = std::fmod(std::fabs(x), 2.0);
  const double nearest = turn > 1.5 ? turn - 2 : turn > 0.5 ? 1 - turn : turn;
  const double sine = std::sin(std::numbers::pi * nearest);
  return std::signbit(x) ? -sine : sine;
}
double cosine_of_half_turns(double x) {
  return std::sin(std::numbers::pi * (0.5 - std::fabs(std::remainder(std::fabs(x), 2.0))));
}
double tangent_of_half_turns(double x) { return sine_of_half_turns(x) / cosine_of_half_turns(x); }

INSTANTIATE_TEST_SUITE_P(All, Elementary,
                         ::testing::Values(Function{"exp", std::exp, 1.0}, Function{"exp2", std::exp2, 1.0},
                                           Function{"exp10", [](double x) { return std::pow(10.0, x); }, 2.0},
                                           Function{"log", std::log, 1.0}, Function{"log2", std::log2, 2.0},
                                           Function{"log10", std::log10, 2.0}, Function{"tanh", std::tanh, 2.0},
                                           Function{"fast_exp", std::exp, 1.0}, Function{"sin", std::sin, 1.6},
                                           Function{"cos", std::cos, 1.6}, Function{"tan", std::tan, 3.6},
                                           Function{"fast_sin", std::sin, 1.6},
                                           Function{"sinpi", sine_of_half_turns, 1.0},
                                           Function{"cospi", cosine_of_half_turns, 1.0},
                                           Function{"tanpi", tangent_of_half_turns, 2.5},
                                           Function{"asin", std::asin, 1.5}, Function{"acos", std::acos, 1.5},
                                           Function{"atan", std::atan, 1.5}, Function{"sinh", std::sinh, 1.6},
                                           Function{"cosh", std::cosh, 1.5}, Function{"asinh", std::asinh, 2.0},
                                           Function{"acosh", std::acosh, 2.0}, Function{"atanh", std::atanh, 2.0}),
                         [](const auto& info) { return std::string(info.param.name); });

struct FunctionOfTwo {
  const char* name;
  double (*truth)(double, double);
  float (*c)(float, float);
  double most;
};

class ElementaryOfTwo : public ::testing::TestWithParam<FunctionOfTwo> {
 protected:
  struct Pairs {
    std::vector<float> x;
    std::vector<float> y;
    void add(float first, float second) {
      x.push_back(first);
      y.push_back(second);
    }
  };

  // Any floats; and numbers that have results of every size, near one too, where a power's exponent is large.
  static Pairs numbers() {
    Pairs pairs;
    std::uint32_t state = 1;
    const auto next = [&] { return state = state * 1664525 + 1013904223; };
    const auto evenly = [&](float low, float high) {
      return low + (high - low) * static_cast<float>(next() >> 8) * 0x1p-24F;
    };
    for (int i = 0; i < 500000; ++i) {
      pairs.add(std::bit_cast<float>(next()), std::bit_cast<float>(next()));
      const float near_one = evenly(0.5F, 2.0F);
      pairs.add(near_one, evenly(-150.0F, 150.0F) / std::log2(near_one));
      const float positive = std::bit_cast<float>(next() >> 1);
      pairs.add(positive, evenly(-150.0F, 150.0F) / std::log2(positive));
      pairs.add(evenly(-100.0F, 100.0F), static_cast<float>(static_cast<int>(next() >> 27)) - 16.0F);
      pairs.add(evenly(-1.0F, 1.0F), evenly(-1.0F, 1.0F));
    }
    pairs.x.resize(pairs.x.size() / 256 * 256);
    pairs.y.resize(pairs.x.size());
    return pairs;
  }

  static Pairs special() {
    Pairs pairs;
    const float sizes[] = {
        0, 0x1p-149F, 0x1p-126F, 0.5F,  0x1.fffffep-1F, 1,        0x1.000002p0F, 1.5F,    2,         2.5F,
        3, 4,         1e30F,     5e37F, 3e38F,          16777215, 1e20F,         0x1p24F, kInfinity, std::nanf("")};
    for (const float x : sizes) {
      for (const float y : sizes) {
        for (const float first : {x, -x}) {
          for (const float second : {y, -y}) pairs.add(first, second);
        }
      }
    }
    return pairs;
  }
};

TEST_P(ElementaryOfTwo, IsClose) {
  Pairs in = numbers();
  const std::vector<float> out = run_floats(of_two(GetParam().name), in.x, in.y, {});
  double worst = 0;
  std::size_t where = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double error = error_of(out[i], GetParam().truth(in.x[i], in.y[i]));
    if (error > worst) {
      worst = error;
      where = i;
    }
  }
  EXPECT_LE(worst, GetParam().most) << "at " << in.x[where] << ", " << in.y[where];
  RecordProperty("worst", std::to_string(worst));
}

TEST_P(ElementaryOfTwo, HasThePeculiaritiesOfC) {
  Pairs in = special();
  const std::vector<float> out = run_floats(of_two(GetParam().name), in.x, in.y, {});
  for (std::size_t i = 0; i < out.size(); ++i) {
    const float truth = GetParam().c(in.x[i], in.y[i]);
    EXPECT_LE(error_of(out[i], truth), GetParam().most) << in.x[i] << ", " << in.y[i] << " is " << out[i];
  }
}

TEST_P(ElementaryOfTwo, TakesDenormalsForZero) {
  Pairs in = special();
  const auto flushed = [](float x) { return std::fabs(x) < 0x1p-126F ? std::copysign(0.0F, x) : x; };
  const std::vector<float> out = run_floats(of_two(GetParam().name).without_denormals(), in.x, in.y, {});
  for (std::size_t i = 0; i < out.size(); ++i) {
    const float truth = flushed(GetParam().c(flushed(in.x[i]), flushed(in.y[i])));
    EXPECT_LE(error_of(out[i], truth), GetParam().most) << in.x[i] << ", " << in.y[i] << " is " << out[i];
  }
}

TEST_P(ElementaryOfTwo, IsTheSameOnAllRoutes) {
  Pairs in = numbers();
  in.x.resize(256000);
  in.y.resize(in.x.size());
  const std::vector<float> loop = run_floats(of_two(GetParam().name), in.x, in.y, {});
  for (const lower::LoweringOptions& options : kOtherRoutes) {
    const std::vector<float> other = run_floats(of_two(GetParam().name), in.x, in.y, options);
    for (std::size_t i = 0; i < other.size(); ++i) {
      ASSERT_EQ(bits_of(loop[i]), bits_of(other[i])) << in.x[i] << ", " << in.y[i];
    }
  }
}

// "pow(x, float(i))" of a small i is products, each of which is rounded.
TEST_F(ElementaryOfTwo, PowersOfACountAreCloseAndHaveThePeculiarities) {
  AirText air = AirText()
                    .buffers(3)
                    .builtin("thread_position_in_grid")
                    .outside("declare float @air.pow.f32(float, float)")
                    .outside("declare float @air.convert.f.f32.s.i32(i32)")
                    .body(testing::kLoadOwn + std::string(R"(
  %second = getelementptr float, ptr addrspace(1) %b2, i64 %i
  %y = load float, ptr addrspace(1) %second, align 4
  %n = fptosi float %y to i32
  %count = call float @air.convert.f.f32.s.i32(i32 %n)
  %z = call float @air.pow.f32(float %x, float %count)
  store float %z, ptr addrspace(1) %to, align 4
  ret void
)"));
  Pairs in;
  Pairs any = numbers();
  any.x.resize(200000);
  for (int count = -9; count <= 9; ++count) {
    for (const float x : special().x) in.add(x, static_cast<float>(count));
    for (const float x : any.x) in.add(x, static_cast<float>(count));
  }
  in.x.resize(in.x.size() / 256 * 256);
  in.y.resize(in.x.size());
  const std::vector<float> out = run_floats(air, in.x, in.y, {});
  double worst = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    // A product of a tiny number loses bits where the power does not.
    const double truth = std::pow(static_cast<double>(in.x[i]), in.y[i]);
    if (in.x[i] != 0 && std::fabs(truth) < 0x1p-120) continue;
    worst = std::max(worst, error_of(out[i], truth));
  }
  EXPECT_LE(worst, 4.5);  // Metal allows 16
  for (const lower::LoweringOptions& options : kOtherRoutes) {
    const std::vector<float> other = run_floats(air, in.x, in.y, options);
    for (std::size_t i = 0; i < other.size(); ++i) {
      ASSERT_EQ(std::isnan(out[i]) ? 0 : bits_of(out[i]), std::isnan(other[i]) ? 0 : bits_of(other[i]))
          << in.x[i] << ", " << in.y[i];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ElementaryOfTwo,
                         ::testing::Values(FunctionOfTwo{"pow", std::pow, std::pow, 2.0},
                                           FunctionOfTwo{"powr", std::pow, std::pow, 2.0},
                                           FunctionOfTwo{"atan2", std::atan2, std::atan2, 2.0}),
                         [](const auto& info) { return std::string(info.param.name); });

// The sine is returned, and the cosine stored.
TEST(ElementaryOfVectors, WritesSineAndCosineOfVectors) {
  std::vector<float> in;
  for (int i = 0; i < 1024; ++i) in.push_back(static_cast<float>(i * i) * 0.37F);
  const AirText air = testing::unary("declare <2 x float> @air.sincos.v2f32(<2 x float>, ptr)", R"(
  %place = alloca <2 x float>, align 8
  %double = fadd float %x, %x
  %one = insertelement <2 x float> poison, float %x, i32 0
  %two = insertelement <2 x float> %one, float %double, i32 1
  %sines = call <2 x float> @air.sincos.v2f32(<2 x float> %two, ptr %place)
  %cosines = load <2 x float>, ptr %place, align 8
  %s = extractelement <2 x float> %sines, i32 1
  %c = extractelement <2 x float> %cosines, i32 0
  %y = fsub float %s, %c
)");
  for (const bool simd : {false, true}) {
    const std::vector<float> out =
        run_floats(air, in, in,
                   {.constants = {},
                    .simdgroups = simd ? lower::vectorize::Simdgroups::kWhole : lower::vectorize::Simdgroups::kNone});
    for (std::size_t i = 0; i < in.size(); ++i) {
      const double x = in[i];
      ASSERT_NEAR(out[i], std::sin(2 * x) - std::cos(x), 3e-7) << in[i];
    }
  }
}

}  // namespace
}  // namespace anymps::metal
