#include "backend/dispatch/refused_operators.h"

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/TypeProperties.h>
#include <c10/core/ScalarType.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "backend/dispatch/other_release.h"
#include "backend/dispatch/refusal_predicates.h"
#include "backend/observe/check.h"

namespace anymps::backend::dispatch {

enum class RefusalKind {
  kRuntimeError,
  kNotImplementedError,
  kTypeError,
  kValueError,
  kDeterminismAlert,  // an error or a warning, as torch.use_deterministic_algorithms says, or neither
};

// What a row looks at.
enum class Subject { kDtype, kDevice, kCall };

struct Refusal {
  std::string_view name;      // without namespace and overload
  std::string_view overload;  // "*" for all
  Subject subject;
  RefusalKind kind;
  std::string_view argument;  // for dtypes and devices
  std::uint64_t dtypes;       // bit n: ScalarType n
  predicates::Predicate* predicate;
  std::string_view text;
  unsigned first_release;  // 213 is 2.13
  unsigned last_release;

  bool concerns(unsigned release) const { return first_release <= release && release <= last_release; }
};

namespace {

using c10::ScalarType;

constexpr std::uint64_t bit(ScalarType dtype) { return std::uint64_t{1} << static_cast<unsigned>(dtype); }

constexpr Refusal kRefusalTable[] = {
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

using Arguments = c10::ArrayRef<c10::IValue>;

void replace_all(std::string& text, std::string_view mark, std::string_view by) {
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + by.size())) {
    text.replace(at, mark.size(), by);
  }
}

std::string filled_in(std::string_view text, std::optional<ScalarType> dtype, const c10::FunctionSchema& schema,
                      Arguments arguments) {
  std::string result(text);
  if (dtype) {
    replace_all(result, "{dtype}", c10::toString(*dtype));
    replace_all(result, "{metal}", metal_name(*dtype));
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = schema.arguments()[i].name();
    if (arguments[i].isIntList()) {
      replace_all(result, "{length of " + name + "}", std::to_string(arguments[i].toIntList().size()));
    }
    if (!arguments[i].isTensor() || !arguments[i].toTensor().defined()) continue;
    replace_all(result, "{dtype of " + name + "}", c10::toString(arguments[i].toTensor().scalar_type()));
    replace_all(result, "{type of " + name + "}", std::string(arguments[i].toTensor().dtype().name()));
  }
  return result;
}

const char* python_class(RefusalKind kind) {
  switch (kind) {
    case RefusalKind::kNotImplementedError:
      return "NotImplementedError";
    case RefusalKind::kTypeError:
      return "TypeError";
    case RefusalKind::kValueError:
      return "ValueError";
    default:
      return "RuntimeError";
  }
}

void refuse_arguments(const c10::FunctionSchema& schema, RefusalKind kind, const std::string& text) {
  if (kind != RefusalKind::kDeterminismAlert && !observe::is_expected(python_class(kind))) {
    observe::note_finding("refused-arguments", schema.name() + ": " + text);
  }
  switch (kind) {
    case RefusalKind::kNotImplementedError:
      C10_THROW_ERROR(NotImplementedError, text);
    case RefusalKind::kTypeError:
      C10_THROW_ERROR(TypeError, text);
    case RefusalKind::kValueError:
      C10_THROW_ERROR(ValueError, text);
    case RefusalKind::kDeterminismAlert:
      at::globalContext().alertNotDeterministic(text);
      return;
    case RefusalKind::kRuntimeError:
      C10_THROW_ERROR(Error, text);
  }
}

// Before 2.11 it is not known what operators refuse: there it is what they do here.
unsigned release_of_refusals() {
  constexpr unsigned kFirstKnown = 211;
  const unsigned release = minor_in_force();
  return release < kFirstKnown ? kOwnMinor : release;
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

ScalarType promoted_dtype(const c10::FunctionSchema& schema, Arguments arguments) {
  at::native::ResultTypeState state;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const c10::IValue& argument = arguments[i];
    if (schema.arguments()[i].is_out()) continue;
    if (argument.isTensor() && argument.toTensor().defined()) {
      state = at::native::update_result_type_state(argument.toTensor(), state);
    } else if (argument.isScalar()) {
      state = at::native::update_result_type_state(argument.toScalar(), state);
    }
  }
  return at::native::result_type(state);
}

}  // namespace

RefusalList::RefusalList(const c10::FunctionSchema& schema) : schema_(&schema) {
  const std::string_view full_name = schema.name();
  const std::string_view name = full_name.substr(full_name.find("::") + 2);
  const auto rows = std::ranges::equal_range(kRefusalTable, name, {}, &Refusal::name);
  static const unsigned in_force = release_of_refusals();
  for (const Refusal& refusal : rows) {
    if (refusal.overload != "*" && refusal.overload != schema.overload_name()) continue;
    const bool refused = refusal.concerns(in_force);
    const bool own = refusal.concerns(kOwnMinor);
    if (!refused && !(own && observe::checking())) continue;
    std::size_t argument = 0;
    if (!refusal.argument.empty() && refusal.argument != kPromoted && refusal.argument != kAny) {
      const std::optional<int> index = schema.argumentIndexWithName(refusal.argument);
      if (!index && !own) continue;  // another release names it otherwise
      TORCH_INTERNAL_ASSERT(index, "data/refusals.txt names '", refusal.argument, "', which ", schema,
                            " does not have");
      argument = static_cast<std::size_t>(*index);
    }
    rows_.push_back({&refusal, argument, refused});
  }
}

void RefusalList::check(Arguments arguments, bool has_cpu_tensor) const {
  for (const Row& row : rows_) {
    const Refusal& refusal = *row.refusal;
    std::optional<ScalarType> dtype;
    bool applies = false;
    switch (refusal.subject) {
      case Subject::kCall:
        applies = refusal.predicate(arguments);
        break;
      case Subject::kDevice:
        if (!has_cpu_tensor) break;
        // Kernels that say it of any argument take scalars of the CPU by value.
        applies = refusal.argument == kAny ? std::ranges::any_of(arguments, is_or_has_array_on_cpu)
                                           : is_on_cpu(arguments[row.argument]);
        break;
      case Subject::kDtype:
        dtype = refusal.argument == kPromoted ? promoted_dtype(*schema_, arguments) : dtype_of(arguments[row.argument]);
        applies = dtype && (refusal.dtypes & bit(*dtype)) != 0;
        break;
    }
    if (!applies) continue;
    const std::string text = filled_in(refusal.text, dtype, *schema_, arguments);
    if (row.refused) {
      refuse_arguments(*schema_, refusal.kind, text);
    } else if (refusal.kind != RefusalKind::kDeterminismAlert) {
      observe::note_finding("upgrade-gain", schema_->name() + ": " + text);
    }
  }
}

}  // namespace anymps::backend::dispatch
