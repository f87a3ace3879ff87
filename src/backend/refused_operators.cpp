#include "backend/refused_operators.h"

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "backend/refusal_predicates.h"

namespace anymps::backend {

enum class RefusalKind {
  kRuntimeError,
  kNotImplementedError,
  kTypeError,
  kDeterminismAlert,  // an error or a warning, as torch.use_deterministic_algorithms says, or neither
};

// What a row looks at.
enum class Subject { kDtype, kDevice, kCall };

struct Refusal {
  std::string_view name;      // without namespace and overload
  std::string_view overload;  // "*" for all
  Subject subject;
  std::string_view argument;  // for dtypes and devices
  std::uint64_t dtypes;       // bit n: ScalarType n
  predicates::Predicate* predicate;
  RefusalKind kind;
  std::string_view text;
};

namespace {

using c10::ScalarType;

constexpr std::uint64_t bit(ScalarType dtype) { return std::uint64_t{1} << static_cast<unsigned>(dtype); }

constexpr Refusal kTable[] = {
#include "refusal_table.inc"
};

constexpr std::string_view kPromoted = "promoted";
constexpr std::string_view kAny = "any";

std::string_view metal_name(ScalarType dtype) {
  switch (dtype) {
    case c10::kFloat:
      return "float";
    case c10::kHalf:
      return "half";
    case c10::kBFloat16:
      return "bfloat";
    case c10::kInt:
      return "int";
    case c10::kLong:
      return "long";
    case c10::kShort:
      return "short";
    case c10::kChar:
      return "char";
    case c10::kByte:
      return "uchar";
    case c10::kBool:
      return "bool";
    case c10::kComplexHalf:
      return "half2";
    case c10::kComplexFloat:
      return "float2";
    case c10::kUInt64:
      return "ulong";
    case c10::kUInt32:
      return "uint";
    case c10::kUInt16:
      return "ushort";
    default:
      return "Undefined";
  }
}

std::string filled_in(std::string_view text, std::optional<ScalarType> dtype) {
  std::string result(text);
  auto replace = [&](std::string_view mark, std::string_view by) {
    const std::size_t at = result.find(mark);
    if (at != std::string::npos) result.replace(at, mark.size(), by);
  };
  if (dtype) {
    replace("{dtype}", c10::toString(*dtype));
    replace("{metal}", metal_name(*dtype));
  }
  return result;
}

void refuse(const Refusal& refusal, std::optional<ScalarType> dtype) {
  const std::string text = filled_in(refusal.text, dtype);
  switch (refusal.kind) {
    case RefusalKind::kNotImplementedError:
      C10_THROW_ERROR(NotImplementedError, text);
    case RefusalKind::kTypeError:
      C10_THROW_ERROR(TypeError, text);
    case RefusalKind::kDeterminismAlert:
      at::globalContext().alertNotDeterministic(text);
      return;
    case RefusalKind::kRuntimeError:
      C10_THROW_ERROR(Error, text);
  }
}

bool is_on_cpu(const at::Tensor& tensor) { return tensor.defined() && tensor.is_cpu(); }

bool is_on_cpu(const c10::IValue& value) { return value.isTensor() && is_on_cpu(value.toTensor()); }

bool is_or_has_array_on_cpu(const c10::IValue& value) {
  auto is_array = [](const at::Tensor& tensor) { return is_on_cpu(tensor) && tensor.dim() != 0; };
  if (value.isTensor()) return is_array(value.toTensor());
  return value.isTensorList() && std::ranges::any_of(value.toTensorVector(), is_array);
}

std::optional<ScalarType> dtype_of(const c10::IValue& value) {
  if (!value.isTensor() || !value.toTensor().defined()) return std::nullopt;
  return value.toTensor().scalar_type();
}

std::optional<ScalarType> promoted_dtype(c10::ArrayRef<c10::IValue> arguments) {
  std::optional<ScalarType> result;
  for (const c10::IValue& argument : arguments) {
    const std::optional<ScalarType> dtype = dtype_of(argument);
    if (dtype) result = result ? c10::promoteTypes(*result, *dtype) : *dtype;
  }
  return result;
}

}  // namespace

RefusalList::RefusalList(const c10::FunctionSchema& schema) {
  const std::string_view full_name = schema.name();
  const std::string_view name = full_name.substr(full_name.find("::") + 2);
  const auto rows = std::ranges::equal_range(kTable, name, {}, &Refusal::name);
  for (const Refusal& refusal : rows) {
    if (refusal.overload != "*" && refusal.overload != schema.overload_name()) continue;
    std::size_t argument = 0;
    if (!refusal.argument.empty() && refusal.argument != kPromoted && refusal.argument != kAny) {
      const std::optional<int> index = schema.argumentIndexWithName(refusal.argument);
      TORCH_INTERNAL_ASSERT(index, "data/refusals names '", refusal.argument, "', which ", schema, " does not have");
      argument = static_cast<std::size_t>(*index);
    }
    rows_.push_back({&refusal, argument});
  }
}

void RefusalList::check(c10::ArrayRef<c10::IValue> arguments) const {
  for (const Row& row : rows_) {
    const Refusal& refusal = *row.refusal;
    std::optional<ScalarType> dtype;
    bool applies = false;
    switch (refusal.subject) {
      case Subject::kCall:
        applies = refusal.predicate(arguments);
        break;
      case Subject::kDevice:
        // Kernels that say it of any argument take scalars of the CPU by value.
        applies = refusal.argument == kAny ? std::ranges::any_of(arguments, is_or_has_array_on_cpu)
                                           : is_on_cpu(arguments[row.argument]);
        break;
      case Subject::kDtype:
        dtype = refusal.argument == kPromoted ? promoted_dtype(arguments) : dtype_of(arguments[row.argument]);
        applies = dtype && (refusal.dtypes & bit(*dtype)) != 0;
        break;
    }
    if (applies) refuse(refusal, dtype);
  }
}

}  // namespace anymps::backend
