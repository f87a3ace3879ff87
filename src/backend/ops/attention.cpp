// scaled_dot_product_attention. PyTorch's own front end asks a table that a wheel built without MPS has no row in, so
// the front end for the device stands here; what it goes on to is what it goes on to there: one operator where no
// gradient is asked for, a composition of others with one.
#include <ATen/ATen.h>
#include <ATen/ops/_safe_softmax_compositeexplicitautograd_dispatch.h>
#include <torch/library.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <tuple>
#include <vector>

#include "backend/dispatch/queued_function.h"
#include "backend/ops/registration.h"
#include "backend/release/torch_release.h"

namespace anymps::backend::ops {
namespace {

at::Tensor as_additive(const at::Tensor& mask, at::ScalarType dtype) {
  if (mask.dtype() != at::kBool) return mask;
  const at::Tensor out = at::scalar_tensor(-std::numeric_limits<double>::infinity(), mask.options().dtype(dtype));
  return at::where(mask, 0.0, out);
}

void check_attention_supported(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, double dropout,
                               bool grouped) {
  for (const at::Tensor* tensor : {&query, &key, &value}) {
    TORCH_CHECK_NOT_IMPLEMENTED(at::isFloatingType(tensor->scalar_type()),
                                "scaled_dot_product_attention for MPS does not support dtype ", tensor->scalar_type());
  }
  TORCH_CHECK_NOT_IMPLEMENTED(dropout == 0.0, "scaled_dot_product_attention for MPS does not support dropout.");
  if (!grouped) return;
  TORCH_CHECK(query.size(-3) % key.size(-3) == 0, "For GQA, the query tensor's head dimension (", query.size(-3),
              ") must be divisible by the key tensor's head dimension (", key.size(-3), ").");
}

// A Mac has a kernel that applies a mask and causality at once, for long queries of some widths only.
constexpr std::int64_t kWidths[] = {32, 64, 72, 80, 96, 128, 256};
constexpr std::int64_t kShortQuery = 8;

bool takes_mask_with_causality(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                               const at::Tensor& mask) {
  const std::int64_t width = query.size(-1);
  return std::ranges::find(kWidths, width) != std::end(kWidths) && value.size(-1) == width &&
         query.size(-2) > kShortQuery && key.size(-2) > 0 &&
         (mask.dtype() == at::kBool || mask.dtype() == query.dtype());
}

using OutputAndWeights = std::tuple<at::Tensor, at::Tensor>;

OutputAndWeights attention_on_cpu(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                  const std::optional<at::Tensor>& mask, bool causal, std::optional<double> scale,
                                  bool grouped) {
  std::optional<at::Tensor> additive;
  if (mask && mask->defined()) {
    additive = as_additive(*mask, query.scalar_type());
    if (causal) {
      const at::Tensor earlier = at::ones({query.size(-2), key.size(-2)}, additive->options().dtype(at::kBool)).tril();
      additive = *additive + as_additive(earlier, additive->scalar_type());
      causal = false;
    }
  }
  return at::_scaled_dot_product_attention_math(query, key, value, additive, /*dropout_p=*/0.0, causal,
                                                /*dropout_mask=*/std::nullopt, scale, grouped);
}

OutputAndWeights attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                           const std::optional<at::Tensor>& mask, double dropout, bool causal,
                           const std::optional<at::Tensor>&, std::optional<double> scale, bool grouped) {
  check_attention_supported(query, key, value, dropout, grouped);
  TORCH_CHECK(!mask || !mask->defined() || !causal || takes_mask_with_causality(query, key, value, *mask),
              "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True");
  static auto& known = dispatch::KnownResults::kept_for_good();
  return dispatch::on_cpu_tensors(known, attention_on_cpu, query, key, value, mask, causal, scale, grouped);
}

void check_attention_arguments(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                               const std::optional<at::Tensor>& mask) {
  TORCH_CHECK(query.dtype() == key.dtype() && query.dtype() == value.dtype(),
              "Expected query, key, and value to have the same dtype, but got query.dtype: ", query.dtype(),
              " key.dtype: ", key.dtype(), " and value.dtype: ", value.dtype(), " instead.");
  TORCH_CHECK(query.device() == key.device() && query.device() == value.device(),
              "Expected query, key, and value to have the same device type, but got query.device: ", query.device(),
              " key.device: ", key.device(), " and value.device: ", value.device(), " instead.");
  TORCH_CHECK(query.dim() >= 2 && key.dim() >= 2 && value.dim() >= 2,
              "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: ", query.dim(),
              " key.dim: ", key.dim(), " and value.dim: ", value.dim(), " instead.");
  if (!mask) return;
  TORCH_CHECK(mask->dtype() == at::kBool || mask->dtype() == at::kFloat || mask->dtype() == query.dtype(),
              "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: ",
              mask->dtype(), " and  query.dtype: ", query.dtype(), " instead.");
}

at::Tensor scaled_dot_product_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                        const std::optional<at::Tensor>& mask, double dropout, bool causal,
                                        std::optional<double> scale, bool grouped) {
  check_attention_arguments(query, key, value, mask);
  // Sizes may be symbols of a compiler, which are not asked for their values: a size that may be zero counts as
  // another.
  if (TORCH_GUARD_OR_FALSE(value.sym_numel().sym_eq(0)) || TORCH_GUARD_OR_FALSE(query.sym_size(-2).sym_eq(0))) {
    std::vector<c10::SymInt> shape = query.sym_sizes().vec();
    shape.back() = value.sym_size(-1);
    // Adding nothing of each input keeps all three in the graph, with gradients of zero.
    return at::zeros_symint(shape, query.options()) + (query.sum() + key.sum() + value.sum()) * 0;
  }
  std::optional<at::Tensor> additive = mask;
  if (mask && mask->defined()) additive = as_additive(*mask, query.scalar_type());
  const bool wants_gradient =
      at::GradMode::is_enabled() && (query.requires_grad() || key.requires_grad() || value.requires_grad());
  if (wants_gradient) {
    return std::get<0>(at::_scaled_dot_product_attention_math(query, key, value, additive, dropout, causal,
                                                              std::nullopt, scale, grouped));
  }
#if ANYMPS_ATTENTION_GROUPS_QUERIES
  return std::get<0>(at::_scaled_dot_product_attention_math_for_mps(query, key, value, additive, dropout, causal,
                                                                    std::nullopt, scale, grouped));
#else
  const auto for_each_head = [&](const at::Tensor& tensor) {
    return grouped ? tensor.repeat_interleave_symint(query.sym_size(-3) / tensor.sym_size(-3), -3) : tensor;
  };
  return std::get<0>(at::_scaled_dot_product_attention_math_for_mps(query, for_each_head(key), for_each_head(value),
                                                                    additive, dropout, causal, std::nullopt, scale));
#endif
}

// softmax with rows of nothing but -inf set to zero. PyTorch composes it of five passes over the scores; such rows come
// out of softmax as NaN, first element included, so one look at each row decides whether the passes are needed.
at::Tensor safe_softmax_on_cpu(const at::Tensor& scores, std::int64_t dim, std::optional<at::ScalarType> dtype) {
  at::Tensor result = at::softmax(scores, dim, dtype);
  if (result.numel() == 0) return result;
  const at::Tensor heads = result.dim() == 0 ? result : result.select(dim, 0);
  if (heads.isnan().any().item<bool>()) return at::compositeexplicitautograd::_safe_softmax(scores, dim, dtype);
  return result;
}

at::Tensor safe_softmax(const at::Tensor& scores, std::int64_t dim, std::optional<at::ScalarType> dtype) {
  static auto& known = dispatch::KnownResults::kept_for_good();
  at::Tensor result = dispatch::on_cpu_tensors(known, safe_softmax_on_cpu, scores, dim, dtype);
  // What a Mac's passes would hold at this point, so that the peak of the device's memory is a Mac's. Never touched.
  const at::Tensor masked = at::empty(scores.sizes(), scores.options().dtype(at::kBool));
  const at::Tensor selected = at::empty_like(result);
  return result;
}

}  // namespace

void register_attention(torch::Library& m) {
#if ANYMPS_ATTENTION_GROUPS_QUERIES
  m.impl("_scaled_dot_product_attention_math_for_mps", attention);
#else
  m.impl(
      "_scaled_dot_product_attention_math_for_mps",
      [](const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const std::optional<at::Tensor>& mask,
         double dropout, bool causal, const std::optional<at::Tensor>& dropout_mask, std::optional<double> scale) {
        return attention(query, key, value, mask, dropout, causal, dropout_mask, scale, /*grouped=*/false);
      });
#endif
  m.impl("scaled_dot_product_attention", scaled_dot_product_attention);
  m.impl("_safe_softmax", safe_softmax);
}

void register_composite_attention(torch::Library& autograd) {
  // At the autograd key too, or autograd would take the operator for one without a gradient.
  autograd.impl("scaled_dot_product_attention", scaled_dot_product_attention);
}

}  // namespace anymps::backend::ops
