// Permutations and draws of categories, by the routes that PyTorch's MPS backend takes: which random numbers a call
// consumes, and in which order, is part of the contract.
#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/native/TensorFactories.h>
#include <torch/library.h>

#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "backend/ops/registration.h"
#include "backend/runtime/generator.h"
#include "backend/runtime/memory.h"
#include "gpu/philox.h"

namespace anymps::backend::ops {
namespace {

using OptionalGenerator = std::optional<at::Generator>;

// From the end to the front, each element swaps with one at or before it; four swaps a Philox index.
void shuffle(std::span<std::int64_t> order, runtime::MpsGenerator::Stream stream) {
  gpu::PhiloxBlock bits{};
  std::size_t used = bits.size();
  for (std::size_t i = order.size(); i-- > 1;) {
    if (used == bits.size()) {
      bits = gpu::philox(stream.seed, stream.index++);
      used = 0;
    }
    std::swap(order[i], order[bits[used++] % static_cast<std::uint32_t>(i + 1)]);
  }
}

at::Tensor& randperm_out(std::int64_t n, OptionalGenerator generator, at::Tensor& result) {
  TORCH_CHECK(n >= 0, "n must be non-negative, got", n);
  TORCH_CHECK(!generator || result.device() == generator->device(), "Expected a '", result.device(),
              "' generator device but found '", generator->device(), "'");
  at::native::check_supported_max_int_with_precision(n, result);
  result.resize_({n});
  if (n == 0) return result;
  // A Mac shuffles small permutations one swap after the other, and sorts random keys for larger ones.
  constexpr std::int64_t kShuffled = 384;
  constexpr std::int64_t kRadixSorted = std::int64_t{1} << 15;
  const bool integers = result.scalar_type() == at::kInt || result.scalar_type() == at::kLong;
  if (n <= kShuffled && integers && result.is_contiguous()) {
    const runtime::MpsGenerator::Stream stream =
        runtime::generator_or_default(generator)->take(static_cast<std::uint64_t>((n - 1 + 3) / 4));
    std::vector<std::int64_t> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    shuffle(order, stream);
    runtime::wait_for_commands(*result.storage().unsafeGetStorageImpl());
    AT_DISPATCH_INDEX_TYPES(result.scalar_type(), "randperm_mps",
                            [&] { std::copy(order.begin(), order.end(), result.mutable_data_ptr<index_t>()); });
    return result;
  }
  if (n >= kRadixSorted) {
    at::Tensor keys = at::empty({n}, result.options().dtype(at::kInt));
    keys.random_(0, std::int64_t{1} << 24, generator);
    auto [sorted, order] = keys.sort(/*stable=*/true, 0, /*descending=*/false);
    // Keys that came out equal are shuffled among themselves, each run by indices of its own.
    const runtime::MpsGenerator::Stream stream =
        runtime::generator_or_default(generator)->take(static_cast<std::uint64_t>(n));
    for (const at::Tensor& read : {sorted, order}) runtime::wait_for_commands(*read.storage().unsafeGetStorageImpl());
    const auto* key = sorted.const_data_ptr<std::int32_t>();
    auto* data = order.mutable_data_ptr<std::int64_t>();
    for (std::int64_t start = 0; start < n;) {
      std::int64_t length = 1;
      while (start + length < n && key[start + length] == key[start]) ++length;
      shuffle({data + start, static_cast<std::size_t>(length)},
              {stream.seed, stream.index + static_cast<std::uint64_t>(start)});
      start += length;
    }
    result.copy_(order);
    return result;
  }
  at::Tensor keys = at::empty({n}, result.options().dtype(at::kFloat));
  keys.uniform_(0.0, 1.0, generator);
  result.copy_(keys.argsort());
  return result;
}

at::Tensor& multinomial_out(const at::Tensor& self, std::int64_t samples, bool replacement, OptionalGenerator generator,
                            at::Tensor& result) {
  TORCH_CHECK(result.device() == self.device(), "multinomial arguments must have the same device");
  TORCH_CHECK(self.dim() > 0 && self.dim() <= 2, "prob_dist must be 1 or 2 dim");
  TORCH_CHECK(at::isFloatingType(self.scalar_type()),
              "multinomial only supports floating-point dtypes for input, got: ", self.scalar_type());
  TORCH_CHECK(result.scalar_type() == at::kLong, "multinomial expects Long tensor out, got: ", result.scalar_type());
  TORCH_CHECK(samples > 0, "cannot sample n_sample <= 0 samples");
  TORCH_CHECK(replacement || samples <= self.size(-1),
              "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
  constexpr std::int64_t kMaxCategories = std::int64_t{1} << 24;
  TORCH_CHECK(self.size(-1) <= kMaxCategories, "number of categories cannot exceed 2^24");
  if (self.dim() == 1) {
    result.resize_({samples});
  } else {
    result.resize_({self.size(0), samples});
  }
  if (result.numel() == 0) return result;
  if (!replacement || samples == 1) {
    const auto is_valid = (self.max() < std::numeric_limits<double>::infinity()) & (self.min() >= 0);
    at::_assert_async(is_valid, "probability tensor contains either `inf`, `nan` or element < 0");
    at::_assert_async((self.sum(-1) != 0).all(), "invalid multinomial distribution (sum of probabilities <= 0)");
    at::Tensor keys = at::empty_like(self).exponential_(1.0, generator);
    at::div_out(keys, self, keys);
    if (samples == 1) {
      at::argmax_out(result, keys, /*dim=*/-1, /*keepdim=*/true);
    } else {
      at::Tensor values = at::empty(result.sizes(), self.options());
      at::topk_out(values, result, keys, samples);
    }
    return result;
  }
  const at::Tensor cumulative = self.cumsum(-1, at::kFloat);
  const at::Tensor draws = at::rand(result.sizes(), generator, self.options().dtype(at::kFloat))
                               .mul_(cumulative.select(-1, self.size(-1) - 1).unsqueeze(-1));
  at::searchsorted_out(result, cumulative, draws);
  result.clamp_(0, self.size(-1) - 1);
  return result;
}

at::Tensor multinomial(const at::Tensor& self, std::int64_t samples, bool replacement, OptionalGenerator generator) {
  at::Tensor result = at::empty({0}, self.options().dtype(at::kLong));
  return multinomial_out(self, samples, replacement, std::move(generator), result);
}

}  // namespace

void register_sampling(torch::Library& m) {
  m.impl("randperm.generator_out", randperm_out);
  m.impl("multinomial", multinomial);
  m.impl("multinomial.out", multinomial_out);
}

}  // namespace anymps::backend::ops
