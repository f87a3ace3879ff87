#include "metal/runtime/runtime_functions.h"

#include <dlfcn.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/MemoryBufferRef.h>

#include <cmath>
#include <map>
#include <stdexcept>

#include "metal/lower/transform/sanitiser.h"
#include "metal/runtime/validator.h"

namespace anymps::metal::runtime {
namespace {

// Metal's functions of pi times x; the C library of this system has none. They are zero where they should be, as gamma
// functions rely on: the remainder is exact, and so is the way back from a whole turn. CPUs that cannot fuse a multiply
// and an add have them; others have formulas (lower/builtins/pi_functions.cpp).
float sinpi(float x) {
  const float turn = std::remainder(x, 2.0F);
  const float half = std::fabs(turn) > 0.5F ? std::copysign(1.0F, turn) - turn : turn;
  return half == 0 ? std::copysign(0.0F, x) : static_cast<float>(std::sin(M_PI * half));
}
float cospi(float x) { return static_cast<float>(std::sin(M_PI * (0.5 - std::fabs(std::remainder(x, 2.0F))))); }
float tanpi(float x) { return sinpi(x) / cospi(x); }

// The C library's under names that LLVM does not know: it may not call them for nothing
// (lower/builtins/vector_variants.h).
float far_sin(float x) { return std::sin(x); }
float far_cos(float x) { return std::cos(x); }
float far_tan(float x) { return std::tan(x); }

// What LLVM calls for an instruction or an intrinsic that the processor has none for: of the C library and of the
// compiler's own. Not every system has all of the latter.
constexpr const char* kLibrary[] = {
    // memory
    "bcmp", "memcmp", "memcpy", "memmove", "memset",
    // floating point
    "acosf", "acoshf", "asinf", "asinhf", "atan2f", "atanf", "atanhf", "cbrtf", "ceilf", "copysignf", "cosf", "coshf",
    "exp10f", "exp2f", "expf", "expm1f", "fabsf", "floorf", "fmaf", "fmaxf", "fminf", "fmodf", "frexpf", "ldexpf",
    "log10f", "log1pf", "log2f", "logf", "nearbyintf", "nextafterf", "powf", "remainderf", "rintf", "roundevenf",
    "roundf", "sincosf", "sinf", "sinhf", "sqrtf", "tanf", "tanhf", "truncf", "acos", "asin", "atan", "atan2", "ceil",
    "copysign", "cos", "cosh", "exp", "exp10", "exp2", "fabs", "floor", "fma", "fmax", "fmin", "fmod", "frexp", "ldexp",
    "log", "log10", "log2", "nearbyint", "pow", "rint", "round", "roundeven", "sin", "sincos", "sinh", "sqrt", "tan",
    "tanh", "trunc",
    // narrow floats, and integers of 128 bits
    "__extendhfsf2", "__gnu_f2h_ieee", "__gnu_h2f_ieee", "__truncdfbf2", "__truncdfhf2", "__truncsfbf2", "__truncsfhf2",
    "__ashlti3", "__ashrti3", "__divti3", "__fixdfti", "__fixsfti", "__fixunsdfti", "__fixunssfti", "__floattidf",
    "__floattisf", "__floatuntidf", "__floatuntisf", "__lshrti3", "__modti3", "__multi3", "__powidf2", "__powisf2",
    "__udivti3", "__umodti3"};

// A name in objects for x86-64 that the linker itself gives a place.
constexpr std::string_view kOfTheLinker = "_GLOBAL_OFFSET_TABLE_";

using Table = std::map<std::string, void*, std::less<>>;

const Table& table() {
  static const Table* const all = [] {
    auto* made = new Table;
    const auto define = [&](const char* name, auto* function) { (*made)[name] = reinterpret_cast<void*>(function); };
    define("anymps_air_sinpi", &sinpi);
    define("anymps_air_cospi", &cospi);
    define("anymps_air_tanpi", &tanpi);
    define("anymps_far_sin", &far_sin);
    define("anymps_far_cos", &far_cos);
    define("anymps_far_tan", &far_tan);
    define(lower::transform::kAccessHook, &Validator::access_hook);
    define(lower::transform::kLoopHook, &Validator::loop_hook);
    define(lower::transform::kOutsideHook, &Validator::outside_hook);
    define(lower::transform::kFenceHook, &Validator::fence_hook);
    dlopen("libm.so.6", RTLD_NOW | RTLD_GLOBAL);
    for (const char* name : kLibrary) {
      if (void* address = dlsym(RTLD_DEFAULT, name)) (*made)[name] = address;
    }
    return made;
  }();
  return *all;
}

}  // namespace

void for_each_runtime_function(const std::function<void(std::string_view name, void* address)>& define) {
  for (const auto& [name, address] : table()) define(name, address);
}

std::string foreign_symbol_of(std::span<const std::byte> object) {
  const llvm::StringRef bytes(reinterpret_cast<const char*>(object.data()), object.size());
  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(bytes, "kernel"));
  if (!file) throw std::runtime_error(llvm::toString(file.takeError()));
  for (const llvm::object::SymbolRef& symbol : (*file)->symbols()) {
    auto flags = symbol.getFlags();
    if (!flags) throw std::runtime_error(llvm::toString(flags.takeError()));
    if ((*flags & llvm::object::SymbolRef::SF_Undefined) == 0) continue;
    auto name = symbol.getName();
    if (!name) throw std::runtime_error(llvm::toString(name.takeError()));
    if (!name->empty() && std::string_view(*name) != kOfTheLinker && !table().contains(std::string_view(*name)))
      return name->str();
  }
  return "";
}

}  // namespace anymps::metal::runtime
