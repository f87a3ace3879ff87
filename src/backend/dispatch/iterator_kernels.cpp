// PyTorch's helpers that launch a library's kernels over an iterator of tensors. A kernel's name says which form it is
// of ("add_dense_scalar_float_float"), and each form takes its arguments in an order of its own: both as the release's
// c10/metal/indexing.h registers them.
#include <ATen/TensorIterator.h>
#include <ATen/native/mps/MetalShaderLibrary.h>
#include <c10/metal/common.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "backend/release/torch_release.h"
#include "backend/shaders/shader_launch.h"

namespace anymps::backend::dispatch {
namespace {

using at::ScalarType;
using at::TensorIteratorBase;

const char* metal_name(ScalarType type) {
  switch (type) {
    case ScalarType::Float:
      return "float";
    case ScalarType::Half:
      return "half";
    case ScalarType::BFloat16:
      return "bfloat";
    case ScalarType::Long:
      return "long";
    case ScalarType::Int:
      return "int";
    case ScalarType::Short:
      return "short";
    case ScalarType::Char:
      return "char";
    case ScalarType::Byte:
      return "uchar";
    case ScalarType::Bool:
      return "bool";
    case ScalarType::UInt64:
      return "ulong";
    case ScalarType::UInt32:
      return "uint";
    case ScalarType::UInt16:
      return "ushort";
    case ScalarType::ComplexFloat:
      return "float2";
    case ScalarType::ComplexHalf:
      return "half2";
#if ANYMPS_DEVICE_HAS_FLOAT8
    case ScalarType::Float8_e4m3fn:
      return "float8_e4m3fn";
#endif
    default:
      TORCH_CHECK(false, "Undefined type ", type);
  }
}

// The form whose threads take several elements each, if they are floating.
#if ANYMPS_LIBRARIES_KNOW_THEIR_FUNCTIONS
constexpr const char* kSeveralForm = "dense_ilp" C10_METAL_ILP_PER_THREAD_STR;
constexpr std::uint64_t kSeveral = c10::metal::ILP_PER_THREAD;
constexpr std::uint32_t kSeveralFrom = 1U << 18U;  // elements

// "ilp" or "scalar": a form that the environment asks for.
std::optional<bool> forced_several(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr) return std::nullopt;
  if (std::string_view(value) == "ilp") return true;
  if (std::string_view(value) == "scalar") return false;
  return std::nullopt;
}
#else
constexpr const char* kSeveralForm = "dense_vec4";
constexpr std::uint64_t kSeveral = 4;
#endif

std::uint64_t in_groups_of_several(std::uint64_t count) { return (count + kSeveral - 1) / kSeveral; }

// A launch over an iterator: the tensors at the first places, then what the form asks for.
class IteratorLaunch {
 public:
  // There is no double on the device.
  static at::Tensor narrow_scalar(const at::Tensor& tensor) {
    if (tensor.dim() != 0) return tensor;
    if (tensor.scalar_type() == at::kDouble) return tensor.to(at::kFloat);
    if (tensor.scalar_type() == at::kComplexDouble) return tensor.to(at::kComplexFloat);
    return tensor;
  }

  IteratorLaunch(void* state, TensorIteratorBase& iterator) : state_(*static_cast<shaders::PipelineHandle*>(state)) {
    for (int i = 0; i < iterator.ntensors(); ++i) bind(static_cast<unsigned>(i), iterator, i);
    next_ = static_cast<unsigned>(iterator.ntensors());
  }
  explicit IteratorLaunch(void* state) : state_(*static_cast<shaders::PipelineHandle*>(state)) {}

  // Another tensor than the iterator's at this place.
  void replace(unsigned index, const at::Tensor& tensor) {
    encoding_.set_bytes(index, tensor.const_data_ptr(), tensor.element_size());
  }
  void set_address(unsigned index, void* address, std::size_t size) {
    encoding_.set(index, address, size);
    next_ = std::max(next_, index + 1);
  }

  template <typename T>
  void add(const T& value) {
    encoding_.set_bytes(next_++, &value, sizeof value);
  }
  // Of a tensor without dimensions there are none, and something has to be bound.
  void add(at::IntArrayRef values) {
    if (values.empty()) return add(std::int64_t{0});
    encoding_.set_bytes(next_++, values.data(), values.size() * sizeof(std::int64_t));
  }
  // As the kernel's type has it; double is float.
  void add(const c10::Scalar& value, ScalarType type) {
    const ScalarType as = type == ScalarType::Double          ? ScalarType::Float
                          : type == ScalarType::ComplexDouble ? ScalarType::ComplexFloat
                                                              : type;
    const at::Tensor one = at::scalar_tensor(value, at::TensorOptions(as));
    encoding_.set_bytes(next_++, one.const_data_ptr(), one.element_size());
  }

  void over(std::uint64_t threads) {
    const auto group =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(threads, state_.pipeline->max_threads_per_threadgroup()));
    run(state_, encoding_, {shaders::narrowed(threads), 1, 1}, {group, 1, 1});
  }
  // The two innermost dimensions along x and y, all others along z.
  void over_planes(const TensorIteratorBase& iterator) {
    const auto inner = static_cast<std::uint64_t>(iterator.shape()[0]);
    const auto next = iterator.ndim() > 1 ? static_cast<std::uint64_t>(iterator.shape()[1]) : 1;
    const auto outer = static_cast<std::uint64_t>(iterator.numel()) / (inner * next);
    const auto most = static_cast<std::uint64_t>(state_.pipeline->max_threads_per_threadgroup());
    const auto width = static_cast<std::uint32_t>(std::min(inner, most));
    run(state_, encoding_, {shaders::narrowed(inner), shaders::narrowed(next), shaders::narrowed(outer)},
        {width, static_cast<std::uint32_t>(std::min(next, most / width)), 1});
  }
  // The innermost dimension along x, all others along y.
  void over_rows(const TensorIteratorBase& iterator) {
    const auto inner = static_cast<std::uint64_t>(iterator.shape()[0]);
    const auto outer = static_cast<std::uint64_t>(iterator.numel()) / inner;
    const auto most = static_cast<std::uint64_t>(state_.pipeline->max_threads_per_threadgroup());
    const auto width = static_cast<std::uint32_t>(std::min(inner, most));
    run(state_, encoding_, {shaders::narrowed(inner), shaders::narrowed(outer), 1},
        {width, static_cast<std::uint32_t>(std::min(outer, most / width)), 1});
  }

 private:
  void bind(unsigned index, TensorIteratorBase& iterator, int i) {
    const at::TensorBase& tensor = iterator.tensor_base(i);
    if (tensor.is_cpu()) {
      TORCH_CHECK(tensor.dim() == 0, "Passed CPU tensor to MPS op");
      return replace(index, narrow_scalar(iterator.tensor(i)));
    }
    encoding_.set_in_storage(index, iterator.data_ptr(i), shaders::storage_of(tensor));
  }

  const shaders::PipelineHandle& state_;
  shaders::Encoding encoding_;
  unsigned next_ = 0;
};

std::uint32_t number_of(ScalarType type) { return static_cast<std::uint32_t>(type); }
std::uint32_t size_of(ScalarType type) { return static_cast<std::uint32_t>(c10::elementSize(type)); }

// Whether `from` repeats as it lies in memory to fill `into`: the dimensions from the last on are equal, and before
// them there is nothing but ones.
bool repeats_densely(const at::Tensor& from, const at::Tensor& into) {
  if (!from.is_contiguous() || !into.is_contiguous()) return false;
  bool equal = true;
  for (std::int64_t i = 1; i <= from.dim(); ++i) {
    if (!equal && from.size(-i) != 1) return false;
    equal = equal && from.size(-i) == into.size(-i);
  }
  return true;
}

// Which form of a binary kernel fits, and what it is called.
struct BinaryForm {
  enum class Kind { kPlain, kScalar, kRepeated, kCastOutput };

  Kind kind = Kind::kPlain;
  bool left = false;  // it is the first operand that is a scalar or repeated
  bool cast = false;  // operands are of two types
  bool several = false;
  std::int64_t repeated = 0;  // elements of the operand that is repeated
};

class BinaryLaunch {
 public:
  BinaryLaunch(TensorIteratorBase& iterator, std::optional<c10::Scalar> alpha, std::optional<ScalarType> alpha_type,
               std::optional<ScalarType> natural, std::optional<std::uint32_t> several_from)
      : iterator_(iterator),
        alpha_(std::move(alpha)),
        out_(iterator.output()),
        natural_(natural.value_or(out_.scalar_type())),
        inputs_{IteratorLaunch::narrow_scalar(iterator.input(0)), IteratorLaunch::narrow_scalar(iterator.input(1))} {
    choose_form();
#if ANYMPS_LIBRARIES_KNOW_THEIR_FUNCTIONS
    promote_scalar();
    choose_several(several_from);
#endif
    alpha_type_ =
        alpha_type.value_or(form_.cast && ANYMPS_ALPHA_HAS_RESULTS_TYPE ? out_.scalar_type() : iterator.common_dtype());
  }

  std::string kernel(const std::string& name) const {
    const std::string alpha = alpha_ ? std::string("_") + metal_name(alpha_type_) : "";
    const auto types = [&](ScalarType to, ScalarType from) {
      return fmt::format("{}_{}{}", metal_name(to), metal_name(from), alpha);
    };
    const ScalarType to = out_.scalar_type();
#if ANYMPS_LIBRARIES_KNOW_THEIR_FUNCTIONS
    // What is computed in: the result's type, but for comparisons.
    const std::string cast_types = types(to, to == at::kBool ? iterator_.common_dtype() : to);
#else
    const std::string cast_types = metal_name(to) + alpha;
#endif
    const ScalarType whole = inputs_[form_.left ? 1 : 0].scalar_type();
    switch (form_.kind) {
      case BinaryForm::Kind::kCastOutput:
        return fmt::format("{}_strided_castout_{}", name, types(natural_, iterator_.common_dtype()));
      case BinaryForm::Kind::kScalar:
        return fmt::format("{}_dense_scalar{}_{}{}", name, form_.left ? "_lhs" : "", form_.cast ? "cast_" : "",
                           form_.cast ? cast_types : types(to, whole));
      case BinaryForm::Kind::kRepeated:
        return fmt::format("{}_dense_broadcast{}_{}{}", name, form_.left ? "_rhs" : "", form_.cast ? "cast_" : "",
                           form_.cast ? cast_types : types(to, whole));
      case BinaryForm::Kind::kPlain:
        break;
    }
    const char* shape = !iterator_.is_contiguous() ? "strided" : form_.several ? kSeveralForm : "dense";
    return fmt::format("{}_{}_{}{}", name, shape, form_.cast ? "cast_" : "",
                       form_.cast ? cast_types : types(to, inputs_[0].scalar_type()));
  }

  void run(void* state) const {
    IteratorLaunch launch(state, iterator_);
    const bool strided = form_.kind == BinaryForm::Kind::kCastOutput ||
                         (form_.kind == BinaryForm::Kind::kPlain && !iterator_.is_contiguous());
    if (form_.kind == BinaryForm::Kind::kScalar) rebind_scalar(launch);
    if (form_.kind == BinaryForm::Kind::kRepeated) launch.add(form_.repeated);
    if (form_.several) launch.add(static_cast<std::uint32_t>(iterator_.numel()));
    if (alpha_ && form_.kind != BinaryForm::Kind::kCastOutput) launch.add(*alpha_, alpha_type_);
    const ScalarType a = inputs_[0].scalar_type();
    const ScalarType b = inputs_[1].scalar_type();
    if (strided) {
      launch.add(iterator_.shape());
      for (int i = 0; i < 3; ++i) launch.add(iterator_.strides(i));
      launch.add(std::array{static_cast<std::uint32_t>(iterator_.ndim()), number_of(a), number_of(b),
                            number_of(out_.scalar_type())});
    } else if (form_.cast) {
      launch.add(std::array{size_of(a), size_of(b), number_of(a), number_of(b)});
    }
    const auto count = static_cast<std::uint64_t>(iterator_.numel());
    launch.over(form_.several ? in_groups_of_several(count) : count);
  }

 private:
  void choose_form() {
    form_.cast = inputs_[0].scalar_type() != inputs_[1].scalar_type();
    if (natural_ != out_.scalar_type()) {
      form_.kind = BinaryForm::Kind::kCastOutput;
      return;
    }
    for (const int i : {0, 1}) {
      const at::Tensor& small = inputs_[static_cast<std::size_t>(i)];
      const at::Tensor& whole = inputs_[static_cast<std::size_t>(1 - i)];
      if (small.numel() == out_.numel() || !repeats_densely(small, out_)) continue;
      if (whole.numel() != out_.numel() || !whole.is_contiguous() || !out_.is_contiguous()) continue;
      form_.left = i == 0;
      form_.repeated = small.numel();
      form_.kind = small.numel() == 1 ? BinaryForm::Kind::kScalar : BinaryForm::Kind::kRepeated;
      return;
    }
  }

#if ANYMPS_LIBRARIES_KNOW_THEIR_FUNCTIONS
  // An integer beside floats is made a float here, which loses nothing that the kernel would not.
  void promote_scalar() {
    if (form_.kind != BinaryForm::Kind::kScalar || !form_.cast) return;
    at::Tensor& scalar = inputs_[form_.left ? 0 : 1];
    const at::Tensor& whole = inputs_[form_.left ? 1 : 0];
    const ScalarType common = iterator_.common_dtype();
    const ScalarType real = c10::isComplexType(common) ? c10::toRealValueType(common) : common;
    if (whole.scalar_type() != common || !c10::isIntegralType(scalar.scalar_type(), /*includeBool=*/true) ||
        real != at::kFloat) {
      return;
    }
    scalar = scalar.to(common);
    form_.cast = false;
  }

  void choose_several(std::optional<std::uint32_t> from) {
    if (form_.kind != BinaryForm::Kind::kPlain || !iterator_.is_contiguous() || form_.cast || alpha_) return;
    const std::uint32_t otherwise =
        c10::isFloatingType(out_.scalar_type()) ? kSeveralFrom : std::numeric_limits<std::uint32_t>::max();
    form_.several = static_cast<std::uint64_t>(iterator_.numel()) >= from.value_or(otherwise);
    form_.several = forced_several("PYTORCH_BINARY_FORCE_FLAVOR").value_or(form_.several);
  }
#endif

  void rebind_scalar(IteratorLaunch& launch) const {
    const at::Tensor& scalar = inputs_[form_.left ? 0 : 1];
    launch.replace(form_.left ? 1 : 2, scalar.is_cpu() ? scalar : scalar.cpu());
  }

  TensorIteratorBase& iterator_;
  const std::optional<c10::Scalar> alpha_;
  const at::Tensor out_;
  const ScalarType natural_;
  std::array<at::Tensor, 2> inputs_;
  ScalarType alpha_type_ = ScalarType::Undefined;
  BinaryForm form_;
};

void refuse_double(const TensorIteratorBase& iterator) {
  TORCH_CHECK(iterator.output().scalar_type() != at::kDouble, "float64 is not supported on MPS");
}

void launch_binary(at::native::mps::MetalShaderLibrary& library, TensorIteratorBase& iter, const std::string& name,
                   const std::optional<c10::Scalar>& alpha, std::optional<ScalarType> alpha_type,
                   std::optional<ScalarType> natural, std::optional<std::uint32_t> several_from) {
  refuse_double(iter);
  if (iter.numel() == 0) return;
  if (!iter.can_use_32bit_indexing()) {
    for (auto&& part : iter.with_32bit_indexing()) {
      launch_binary(library, part, name, alpha, alpha_type, natural, several_from);
    }
    return;
  }
  const BinaryLaunch launch(iter, alpha, alpha_type, natural, several_from);
  launch.run(library.getPipelineStateForFunc(launch.kernel(name)));
}

void launch_ternary(at::native::mps::MetalShaderLibrary& library, TensorIteratorBase& iter, const std::string& name,
                    const std::optional<c10::Scalar>& alpha, std::optional<ScalarType> alpha_type) {
  refuse_double(iter);
  if (iter.numel() == 0) return;
  if (!iter.can_use_32bit_indexing()) {
    for (auto&& part : iter.with_32bit_indexing()) launch_ternary(library, part, name, alpha, alpha_type);
    return;
  }
  // Of the three inputs and the result.
  std::array<ScalarType, 4> types{};
  for (int i = 0; i < 3; ++i)
    types[static_cast<std::size_t>(i)] = IteratorLaunch::narrow_scalar(iter.input(i)).scalar_type();
  const ScalarType to = types[3] = iter.output().scalar_type();
#if ANYMPS_TERNARY_CASTS_ITS_RESULT
  const ScalarType computed = iter.common_dtype();
  const bool cast = std::ranges::any_of(types, [computed](ScalarType type) { return type != computed; });
#else
  const ScalarType computed = to;
  const bool cast = types[0] != types[1] || types[0] != types[2];
#endif
  const bool dense = iter.is_contiguous();
  const char* shape = dense ? "dense" : "strided";
  std::string kernel = cast ? fmt::format("{}_{}_cast_{}", name, shape, metal_name(computed))
                            : fmt::format("{}_{}_{}_{}", name, shape, metal_name(to), metal_name(types[0]));
  const ScalarType number = alpha_type.value_or(iter.common_dtype());
  if (alpha) kernel += std::string("_") + metal_name(number);
  IteratorLaunch launch(library.getPipelineStateForFunc(kernel), iter);
  if (alpha) launch.add(*alpha, number);
  if (!dense) {
    launch.add(iter.shape());
    for (int i = 0; i < 4; ++i) launch.add(iter.strides(i));
    launch.add(iter.ndim());
    launch.add(std::array{number_of(types[0]), number_of(types[1]), number_of(types[2]), number_of(to)});
#if ANYMPS_TERNARY_CASTS_ITS_RESULT
    return launch.over_planes(iter);
#endif
  } else if (cast) {
    // Kernels of older releases read three of each.
    launch.add(std::array{size_of(types[0]), size_of(types[1]), size_of(types[2]), size_of(to)});
    launch.add(std::array{number_of(types[0]), number_of(types[1]), number_of(types[2]), number_of(to)});
  }
  launch.over(static_cast<std::uint64_t>(iter.numel()));
}

}  // namespace
}  // namespace anymps::backend::dispatch

namespace at::native::mps {

using namespace anymps::backend::dispatch;  // NOLINT(google-build-using-namespace): the definitions below belong to
                                            // both

#if ANYMPS_LIBRARIES_KNOW_THEIR_FUNCTIONS
void MetalShaderLibrary::exec_unary_kernel(TensorIteratorBase& iter, const std::string& name,
                                           const std::optional<c10::Scalar> alpha,
                                           const std::optional<c10::ScalarType> scalar_arg_type,
                                           const std::optional<uint32_t> ilp_threshold) {
  if (!iter.can_use_32bit_indexing()) {
    for (auto&& part : iter.with_32bit_indexing()) exec_unary_kernel(part, name, alpha, scalar_arg_type, ilp_threshold);
    return;
  }
  const auto count = static_cast<std::uint64_t>(iter.numel());
  if (count == 0) return;
  const bool dense = iter.is_contiguous();
  const c10::ScalarType to = iter.output().scalar_type();
  const c10::ScalarType from = iter.input(0).scalar_type();
  const c10::ScalarType alpha_type = scalar_arg_type.value_or(iter.common_dtype());
  bool several = dense && !alpha && c10::isFloatingType(to) && count >= kSeveralFrom;
  if (dense && !alpha) several = forced_several("PYTORCH_UNARY_FORCE_FLAVOR").value_or(several);

  const char* shape = !dense ? "strided" : several || alpha ? "dense" : "dense_scalar";
  std::string kernel = fmt::format("{}_{}_{}_{}", name, shape, metal_name(to), metal_name(from));
  if (alpha) kernel += std::string("_") + metal_name(alpha_type);
  // Where there is none for both types, one computes in the input's and casts what it stores.
  const bool cast = !alpha && !hasFunction(kernel);
  if (cast) {
    several = dense && ilp_threshold && count >= *ilp_threshold;
    shape = !dense ? "strided_castout" : several ? "dense_castout_ilp" : "dense_castout";
    kernel = fmt::format("{}_{}_{}", name, shape, metal_name(from));
  }

  IteratorLaunch launch(getPipelineStateForFunc(kernel), iter);
  if (!dense) {
    launch.add(iter.shape());
    launch.add(iter.strides(1));
    launch.add(iter.strides(0));
  }
  const auto length = static_cast<std::uint32_t>(count);
  const auto dimensions = static_cast<std::uint32_t>(iter.ndim());
  if (cast && !dense) {
    launch.add(std::array{dimensions, number_of(to)});
  } else if (cast && several) {
    launch.add(std::array{size_of(to), number_of(to), length});
  } else if (cast) {
    launch.add(std::array{size_of(to), number_of(to)});
  } else if (!dense) {
    launch.add(dimensions);
  } else if (several) {
    launch.add(length);
  }
  if (alpha) launch.add(*alpha, alpha_type);
  if (!dense) return launch.over_rows(iter);
  launch.over(several ? in_groups_of_several(count) : count);
}

#if ANYMPS_RAW_NAME_IS_VIEW
using RawName = std::string_view;
#else
using RawName = const std::string&;
#endif

void MetalShaderLibrary::exec_unary_kernel_raw(RawName name, MTLBuffer_t src_buf, uint32_t src_offs_bytes,
                                               c10::ScalarType src_dtype, MTLBuffer_t dst_buf, uint32_t dst_offs_bytes,
                                               c10::ScalarType dst_dtype, uint32_t numel,
                                               const std::optional<uint32_t> ilp_threshold) {
  if (numel == 0) return;
  const bool several = ilp_threshold && numel >= *ilp_threshold;
  IteratorLaunch launch(getPipelineStateForFunc(
      fmt::format("{}_{}_{}", name, several ? "dense_castout_ilp" : "dense_castout", metal_name(src_dtype))));
  launch.set_address(0, static_cast<std::byte*>(dst_buf) + dst_offs_bytes, numel * size_of(dst_dtype));
  launch.set_address(1, static_cast<std::byte*>(src_buf) + src_offs_bytes, numel * size_of(src_dtype));
  if (several) {
    launch.add(std::array{size_of(dst_dtype), number_of(dst_dtype), numel});
  } else {
    launch.add(std::array{size_of(dst_dtype), number_of(dst_dtype)});
  }
  launch.over(several ? in_groups_of_several(numel) : numel);
}

void MetalShaderLibrary::exec_binary_kernel(TensorIteratorBase& iter, const std::string& name,
                                            const std::optional<c10::Scalar> alpha,
                                            const std::optional<c10::ScalarType> scalar_arg_type,
                                            const std::optional<c10::ScalarType> natural_output_dtype,
                                            const std::optional<uint32_t> ilp_threshold) {
  launch_binary(*this, iter, name, alpha, scalar_arg_type, natural_output_dtype, ilp_threshold);
}

#else
namespace {

void launch_unary(MetalShaderLibrary& library, TensorIteratorBase& iter, const std::string& name,
                  const std::optional<c10::Scalar>& alpha, std::optional<c10::ScalarType> alpha_type, bool has_vec4) {
  if (!iter.can_use_32bit_indexing()) {
    for (auto&& part : iter.with_32bit_indexing()) launch_unary(library, part, name, alpha, alpha_type, has_vec4);
    return;
  }
  const auto count = static_cast<std::uint64_t>(iter.numel());
  if (count == 0) return;
  const bool dense = iter.is_contiguous();
  const bool several = has_vec4 && dense && !alpha && c10::isFloatingType(iter.common_dtype());
  const c10::ScalarType number = alpha_type.value_or(iter.common_dtype());
  const at::Tensor input = iter.input(0);
  const at::Tensor output = iter.output(0);
  std::string kernel = fmt::format("{}_{}_{}_{}", name,
                                   several ? kSeveralForm
                                   : dense ? "dense"
                                           : "strided",
                                   metal_name(output.scalar_type()), metal_name(input.scalar_type()));
  if (alpha) kernel += std::string("_") + metal_name(number);
  IteratorLaunch launch(library.getPipelineStateForFunc(kernel), iter);
  if (!dense) {
    launch.add(output.sizes());
    launch.add(input.strides());
    launch.add(output.strides());
    launch.add(static_cast<std::uint32_t>(input.dim()));
  }
  if (several) launch.add(static_cast<std::uint32_t>(count));
  if (alpha) launch.add(*alpha, number);
  launch.over(several ? in_groups_of_several(count) : count);
}

}  // namespace

#if ANYMPS_UNARY_HAS_VECTORS_OF_FOUR
void MetalShaderLibrary::exec_unary_kernel(TensorIteratorBase& iter, const std::string& name,
                                           const std::optional<c10::Scalar> alpha,
                                           const std::optional<c10::ScalarType> scalar_arg_type, bool supports_vec4) {
  launch_unary(*this, iter, name, alpha, scalar_arg_type, supports_vec4);
}
#else
void MetalShaderLibrary::exec_unary_kernel(TensorIteratorBase& iter, const std::string& name,
                                           const std::optional<c10::Scalar> alpha,
                                           const std::optional<c10::ScalarType> scalar_arg_type) {
  launch_unary(*this, iter, name, alpha, scalar_arg_type, false);
}
#endif

void MetalShaderLibrary::exec_binary_kernel(TensorIteratorBase& iter, const std::string& name,
                                            const std::optional<c10::Scalar> alpha,
                                            const std::optional<c10::ScalarType> scalar_arg_type) {
  launch_binary(*this, iter, name, alpha, scalar_arg_type, std::nullopt, std::nullopt);
}
#endif

#if ANYMPS_TERNARY_TAKES_ALPHA
void MetalShaderLibrary::exec_ternary_kernel(TensorIteratorBase& iter, const std::string& name,
                                             const std::optional<c10::Scalar> alpha,
                                             const std::optional<c10::ScalarType> scalar_arg_type) {
  launch_ternary(*this, iter, name, alpha, scalar_arg_type);
}
#else
void MetalShaderLibrary::exec_ternary_kernel(TensorIteratorBase& iter, const std::string& name) {
  launch_ternary(*this, iter, name, std::nullopt, std::nullopt);
}
#endif

}  // namespace at::native::mps
