// Random numbers as PyTorch's Metal kernels make them: the same Philox indices, consumed in the same order, so that
// integer streams are a Mac's to the bit (floating ones to the rounding of log, sin and cos).
#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/native/DistributionTemplates.h>
#include <ATen/native/TensorIterator.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <type_traits>

#include "backend/dispatch/queued_function.h"
#include "backend/ops/registration.h"
#include "backend/runtime/device_errors.h"
#include "backend/runtime/generator.h"
#include "gpu/executor.h"
#include "gpu/philox.h"

namespace anymps::backend::ops {
namespace {

using gpu::PhiloxBlock;
using OptionalGenerator = std::optional<at::Generator>;

constexpr float kEpsilon = std::numeric_limits<float>::epsilon();
constexpr std::size_t kGrain = 4096;

// Fills `output` by blocks of `per_block` elements, one Philox index each; element(bits, i) is the i-th of a block.
template <typename T, typename Element>
void fill_blocks(T* output, std::int64_t count, std::int64_t per_block, runtime::MpsGenerator::Stream stream,
                 Element element) {
  const std::int64_t blocks = (count + per_block - 1) / per_block;
  gpu::executor().parallel_for(static_cast<std::size_t>(blocks), kGrain, [&](std::size_t begin, std::size_t end) {
    for (auto block = static_cast<std::int64_t>(begin); block < static_cast<std::int64_t>(end); ++block) {
      const PhiloxBlock bits = gpu::philox(stream.seed, stream.index + static_cast<std::uint64_t>(block));
      const auto values = element(bits);
      const std::int64_t first = block * per_block;
      const std::int64_t last = std::min(first + per_block, count);
      for (std::int64_t i = first; i < last; ++i)
        output[i] = static_cast<T>(values[static_cast<std::size_t>(i - first)]);
    }
  });
}

// The same for a tensor without gaps: now, or when the queue gets there.
template <typename T, typename Element>
void fill_in_turn(const at::Tensor& output, std::int64_t per_block, runtime::MpsGenerator::Stream stream,
                  Element element) {
  dispatch::in_turn(
      [=](const at::Tensor& memory) {
        fill_blocks(memory.mutable_data_ptr<T>(), memory.numel(), per_block, stream, element);
      },
      output);
}

template <typename Transform>
auto four(Transform transform) {
  return [transform](const PhiloxBlock& bits) {
    return std::array<float, 4>{transform(bits[0]), transform(bits[1]), transform(bits[2]), transform(bits[3])};
  };
}

std::array<float, 2> box_muller(std::uint32_t first, std::uint32_t second) {
  const float u1 = std::max(gpu::philox_uniform(first), kEpsilon);
  const float angle = 2.0F * std::numbers::pi_v<float> * gpu::philox_uniform(second);
  const float radius = std::sqrt(-2.0F * std::log(u1));
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

template <typename Transform>
auto four_normals(Transform transform) {
  return [transform](const PhiloxBlock& bits) {
    const auto a = box_muller(bits[0], bits[1]);
    const auto b = box_muller(bits[2], bits[3]);
    return std::array<float, 4>{transform(a[0]), transform(a[1]), transform(b[0]), transform(b[1])};
  };
}

// The kernels write memory in order, so outputs with gaps are filled through a dense copy.
template <typename Fill>
void fill_tensor(const at::Tensor& tensor, std::int64_t per_block, const OptionalGenerator& generator, Fill fill) {
  const std::int64_t count = tensor.numel();
  if (count == 0) return;
  const at::Tensor output = tensor.is_contiguous() ? tensor : at::empty(tensor.sizes(), tensor.options());
  const std::int64_t blocks = (count + per_block - 1) / per_block;
  fill(output, runtime::generator_or_default(generator)->take(static_cast<std::uint64_t>(blocks)));
  if (!output.is_same(tensor)) tensor.copy_(output);
}

template <typename Make>
void fill_floating(const at::Tensor& tensor, const OptionalGenerator& generator, Make make) {
  fill_tensor(tensor, 4, generator, [&](const at::Tensor& output, runtime::MpsGenerator::Stream stream) {
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, output.scalar_type(), "distribution_mps",
                                    [&] { fill_in_turn<scalar_t>(output, 4, stream, make); });
  });
}

template <typename RNG>
struct UniformKernel {
  void operator()(at::TensorIteratorBase& iter, double from, double to, OptionalGenerator generator) {
    const auto low = static_cast<float>(from);
    const float scale = static_cast<float>(to) - low;
    fill_floating(iter.tensor(0), generator,
                  four([=](std::uint32_t bits) { return low + scale * gpu::philox_uniform(bits); }));
  }
};

template <typename RNG>
struct NormalKernel {
  void operator()(const at::TensorBase& self, double mean, double std, OptionalGenerator generator) {
    TORCH_CHECK_TYPE(at::isFloatingType(self.scalar_type()), "normal_kernel_mps not implemented for '",
                     self.scalar_type(), "'");
    const auto center = static_cast<float>(mean);
    const auto width = static_cast<float>(std);
    fill_floating(at::Tensor(self), generator, four_normals([=](float z) { return center + width * z; }));
  }
};

template <typename RNG>
struct CauchyKernel {
  void operator()(at::TensorIteratorBase& iter, double median, double sigma, OptionalGenerator generator) {
    const auto center = static_cast<float>(median);
    const auto width = static_cast<float>(sigma);
    fill_floating(iter.tensor(0), generator, four([=](std::uint32_t bits) {
                    const float u = std::clamp(gpu::philox_uniform(bits), kEpsilon, 1.0F - kEpsilon);
                    return center + width * std::tan(std::numbers::pi_v<float> * (u - 0.5F));
                  }));
  }
};

template <typename RNG>
struct ExponentialKernel {
  void operator()(at::TensorIteratorBase& iter, double lambda, OptionalGenerator generator) {
    const auto rate = static_cast<float>(lambda);
    fill_floating(iter.tensor(0), generator, four([=](std::uint32_t bits) {
                    return -std::log(1.0F - std::min(gpu::philox_uniform(bits), 1.0F - kEpsilon)) / rate;
                  }));
  }
};

template <typename RNG>
struct LogNormalKernel {
  void operator()(at::TensorIteratorBase& iter, double mean, double std, OptionalGenerator generator) {
    const auto center = static_cast<float>(mean);
    const auto width = static_cast<float>(std);
    fill_floating(iter.tensor(0), generator, four_normals([=](float z) { return std::exp(center + width * z); }));
  }
};

template <typename RNG>
struct GeometricKernel {
  void operator()(at::TensorIteratorBase& iter, double p, OptionalGenerator generator) {
    const auto log_of_miss = static_cast<float>(std::log1p(-p));
    auto make = four([=](std::uint32_t bits) {
      return std::ceil(std::log(std::max(gpu::philox_uniform(bits), kEpsilon)) / log_of_miss);
    });
    fill_tensor(iter.tensor(0), 4, generator, [&](const at::Tensor& output, runtime::MpsGenerator::Stream stream) {
      AT_DISPATCH_ALL_TYPES_AND2(at::kHalf, at::kBFloat16, output.scalar_type(), "geometric_mps",
                                 [&] { fill_in_turn<scalar_t>(output, 4, stream, make); });
    });
  }
};

// Integers in [base, base + range); a range of 0 stands for every value of the type.
void fill_integers(const at::Tensor& tensor, std::int64_t base, std::int64_t range,
                   const OptionalGenerator& generator) {
  const std::int64_t per_block = tensor.element_size() == 8 ? 2 : 4;
  fill_tensor(tensor, per_block, generator, [&](const at::Tensor& output, runtime::MpsGenerator::Stream stream) {
    AT_DISPATCH_V2(output.scalar_type(), "random_mps", AT_WRAP([&] {
                     if constexpr (sizeof(scalar_t) == 8) {
                       fill_in_turn<scalar_t>(output, 2, stream, [=](const PhiloxBlock& bits) {
                         std::array<std::int64_t, 2> values{};
                         for (std::size_t i = 0; i < 2; ++i) {
                           const std::uint64_t v = std::uint64_t{bits[2 * i]} << 32 | bits[2 * i + 1];
                           const std::uint64_t drawn = range == 0 ? v : v % static_cast<std::uint64_t>(range);
                           values[i] = static_cast<std::int64_t>(drawn + static_cast<std::uint64_t>(base));
                         }
                         return values;
                       });
                     } else {
                       fill_in_turn<scalar_t>(output, 4, stream, [=](const PhiloxBlock& bits) {
                         std::array<std::int64_t, 4> values{};
                         for (std::size_t i = 0; i < 4; ++i) {
                           const std::int64_t drawn =
                               range == 0 ? static_cast<std::int32_t>(bits[i])
                                          : static_cast<std::int64_t>(bits[i] % static_cast<std::uint32_t>(range));
                           values[i] = drawn + base;
                         }
                         return values;
                       });
                     }
                   }),
                   AT_EXPAND(AT_INTEGRAL_TYPES), AT_EXPAND(AT_BAREBONES_UNSIGNED_TYPES), AT_EXPAND(AT_FLOATING_TYPES),
                   at::kHalf, at::kBFloat16, at::kBool);
  });
}

template <typename RNG>
struct RandomKernel {
  void operator()(at::TensorIteratorBase& iter, OptionalGenerator generator) {
    std::int64_t range = 0;
    const at::ScalarType dtype = iter.dtype();
    if (at::isFloatingType(dtype)) {
      AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, dtype, "random_mps",
                                      [&] { range = std::int64_t{1} << std::numeric_limits<scalar_t>::digits; });
    } else if (at::isIntegralType(dtype, /*includeBool=*/true)) {
      AT_DISPATCH_INTEGRAL_TYPES_AND(at::kBool, dtype, "random_mps", [&] {
        range = std::is_same_v<scalar_t, std::int64_t>
                    ? std::numeric_limits<std::int64_t>::max()
                    : static_cast<std::int64_t>(static_cast<std::uint64_t>(std::numeric_limits<scalar_t>::max()) + 1);
      });
    } else {
      TORCH_CHECK(false, "random_mps handles only integral, floating-point and boolean types");
    }
    fill_integers(iter.tensor(0), 0, range, generator);
  }
};

template <typename RNG>
struct RandomFromToKernel {
  void operator()(at::TensorIteratorBase& iter, std::uint64_t range, std::int64_t base, OptionalGenerator generator) {
    const bool whole = range == std::numeric_limits<std::uint64_t>::max();
    fill_integers(iter.tensor(0), base, whole ? 0 : static_cast<std::int64_t>(range), generator);
  }
  void operator()(at::TensorIteratorBase& iter, OptionalGenerator generator) {
    fill_integers(iter.tensor(0), std::numeric_limits<std::int64_t>::min(), 0, generator);
  }
};

template <typename Make>
void fill_any(const at::Tensor& tensor, const OptionalGenerator& generator, Make make) {
  fill_tensor(tensor, 4, generator, [&](const at::Tensor& output, runtime::MpsGenerator::Stream stream) {
    AT_DISPATCH_V2(output.scalar_type(), "distribution_mps",
                   AT_WRAP([&] { fill_in_turn<scalar_t>(output, 4, stream, make); }), AT_EXPAND(AT_ALL_TYPES),
                   AT_EXPAND(AT_BAREBONES_UNSIGNED_TYPES), at::kComplexFloat, at::kHalf, at::kBFloat16, at::kBool);
  });
}

at::Tensor& bernoulli_scalar(at::Tensor& self, double p, OptionalGenerator generator) {
  TORCH_CHECK(0 <= p && p <= 1, "bernoulli_ expects p to be in [0, 1], but got p=", p);
  const auto limit = static_cast<float>(p);
  fill_any(self, generator, four([=](std::uint32_t bits) { return gpu::philox_uniform(bits) < limit ? 1.0F : 0.0F; }));
  return self;
}

at::Tensor& bernoulli_tensor(at::Tensor& self, const at::Tensor& p, OptionalGenerator generator) {
  if (self.numel() == 0) return self;
  TORCH_CHECK(p.is_same_size(self) || p.dim() == 0,
              "bernoulli_mps_: probability and self tensor should be of the same shape");
  if (p.dim() == 0) {
    const double value = p.item<double>();
    TORCH_CHECK(0.0 <= value && value <= 1.0, "bernoulli_mps_ expects p to be in [0, 1], but got p=", value);
    return bernoulli_scalar(self, value, std::move(generator));
  }
  const at::Tensor probabilities = p.to(at::kFloat).contiguous();
  const std::int64_t count = self.numel();
  const at::Tensor draws = at::empty(self.sizes(), self.options().dtype(at::kFloat));
  // One index per element is taken, though four elements share a block: so the Metal kernel's host side does.
  const runtime::MpsGenerator::Stream stream =
      runtime::generator_or_default(generator)->take(static_cast<std::uint64_t>(count));
  dispatch::in_turn(
      [count, stream](const at::Tensor& given, const at::Tensor& drawn) {
        const auto* limits = given.const_data_ptr<float>();
        auto* output = drawn.mutable_data_ptr<float>();
        fill_blocks(output, count, 4, stream, four(gpu::philox_uniform));
        bool valid = true;
        for (std::int64_t i = 0; i < count; ++i) {
          valid &= limits[i] >= 0.0F && limits[i] <= 1.0F;
          output[i] = output[i] < limits[i] ? 1.0F : 0.0F;
        }
        if (valid) return;
        runtime::report_error({"bernoulli_mps_ expects p to be in [0, 1]", "bernoulli_tensor", __FILE__, __LINE__, {}});
      },
      probabilities, draws);
  self.copy_(draws);
  return self;
}

at::Tensor& bernoulli_out(const at::Tensor& self, OptionalGenerator generator, at::Tensor& result) {
  result.resize_(self.sizes());
  return bernoulli_tensor(result, self, std::move(generator));
}

std::tuple<at::Tensor, at::Tensor> native_dropout(const at::Tensor& input, double p, std::optional<bool> train) {
  if (input.numel() == 0 || !train.value_or(false) || p == 0) {
    return {input.clone(), at::ones_like(input, input.options().dtype(at::kBool))};
  }
  TORCH_CHECK(at::isFloatingType(input.scalar_type()) || at::isComplexType(input.scalar_type()),
              "native_dropout_mps: input must be a floating-point or complex tensor, got ", input.scalar_type());
  const auto keep = static_cast<float>(1.0 - p);
  const float scale = keep == 0.0F ? 0.0F : 1.0F / keep;
  const at::Tensor dense = input.is_non_overlapping_and_dense() ? input : input.contiguous();
  at::Tensor mask = at::empty_like(dense, dense.options().dtype(at::kBool));
  const std::int64_t count = dense.numel();
  const runtime::MpsGenerator::Stream stream =
      runtime::default_mps_generator().get<runtime::MpsGenerator>()->take(static_cast<std::uint64_t>(count));
  // In the order of memory, whatever the strides: input and mask share them.
  dispatch::in_turn(
      [count, stream, keep](const at::Tensor& drawn) {
        fill_blocks(drawn.mutable_data_ptr<bool>(), count, 4, stream,
                    four([=](std::uint32_t bits) { return gpu::philox_uniform(bits) < keep ? 1.0F : 0.0F; }));
      },
      mask);
  return {dense.mul(mask).mul_(scale), mask};
}

namespace templates = at::native::templates;

}  // namespace

void register_random(torch::Library& m) {
  using at::Tensor;
  m.impl("uniform_", [](Tensor& self, double from, double to, OptionalGenerator g) -> Tensor& {
    return templates::uniform_impl_<UniformKernel, runtime::MpsGenerator>(self, from, to, std::move(g));
  });
  m.impl("normal_", [](Tensor& self, double mean, double std, OptionalGenerator g) -> Tensor& {
    return templates::normal_impl_<NormalKernel, runtime::MpsGenerator>(self, mean, std, std::move(g));
  });
  m.impl("normal.Tensor_float_out", [](const Tensor& mean, double std, OptionalGenerator g, Tensor& out) -> Tensor& {
    return templates::normal_out_impl<NormalKernel, runtime::MpsGenerator>(out, mean, std, std::move(g));
  });
  m.impl("normal.float_Tensor_out", [](double mean, const Tensor& std, OptionalGenerator g, Tensor& out) -> Tensor& {
    return templates::normal_out_impl<NormalKernel, runtime::MpsGenerator>(out, mean, std, std::move(g));
  });
  m.impl("normal.Tensor_Tensor_out",
         [](const Tensor& mean, const Tensor& std, OptionalGenerator g, Tensor& out) -> Tensor& {
           return templates::normal_out_impl<NormalKernel, runtime::MpsGenerator>(out, mean, std, std::move(g));
         });
  m.impl("normal.Tensor_float", [](const Tensor& mean, double std, OptionalGenerator g) {
    return templates::normal_impl<NormalKernel, runtime::MpsGenerator>(mean, std, std::move(g));
  });
  m.impl("normal.float_Tensor", [](double mean, const Tensor& std, OptionalGenerator g) {
    return templates::normal_impl<NormalKernel, runtime::MpsGenerator>(mean, std, std::move(g));
  });
  m.impl("normal.Tensor_Tensor", [](const Tensor& mean, const Tensor& std, OptionalGenerator g) {
    return templates::normal_impl<NormalKernel, runtime::MpsGenerator>(mean, std, std::move(g));
  });
  m.impl("cauchy_", [](Tensor& self, double median, double sigma, OptionalGenerator g) -> Tensor& {
    return templates::cauchy_impl_<CauchyKernel, runtime::MpsGenerator>(self, median, sigma, std::move(g));
  });
  m.impl("exponential_", [](Tensor& self, double lambda, OptionalGenerator g) -> Tensor& {
    return templates::exponential_impl_<ExponentialKernel, runtime::MpsGenerator>(self, lambda, std::move(g));
  });
  m.impl("log_normal_", [](Tensor& self, double mean, double std, OptionalGenerator g) -> Tensor& {
    return templates::log_normal_impl_<LogNormalKernel, runtime::MpsGenerator>(self, mean, std, std::move(g));
  });
  m.impl("geometric_", [](Tensor& self, double p, OptionalGenerator g) -> Tensor& {
    return templates::geometric_impl_<GeometricKernel, runtime::MpsGenerator>(self, p, std::move(g));
  });
  m.impl("random_", [](Tensor& self, OptionalGenerator g) -> Tensor& {
    return templates::random_impl<RandomKernel, runtime::MpsGenerator>(self, std::move(g));
  });
  m.impl("random_.from",
         [](Tensor& self, std::int64_t from, std::optional<std::int64_t> to, OptionalGenerator g) -> Tensor& {
           return templates::random_from_to_impl<RandomFromToKernel, runtime::MpsGenerator>(self, from, to,
                                                                                            std::move(g));
         });
  m.impl("random_.to", [](Tensor& self, std::int64_t to, OptionalGenerator g) -> Tensor& {
    return templates::random_from_to_impl<RandomFromToKernel, runtime::MpsGenerator>(self, 0, to, std::move(g));
  });
  m.impl("bernoulli_.float", bernoulli_scalar);
  m.impl("bernoulli_.Tensor", bernoulli_tensor);
  m.impl("bernoulli.out", bernoulli_out);
  m.impl("native_dropout", native_dropout);
}

}  // namespace anymps::backend::ops
