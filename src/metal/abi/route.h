// How the code of a kernel runs the threads of a threadgroup.
#pragma once

#include <string_view>

namespace anymps::metal::abi {

enum class Route {
  kThreadLoop,
  kCoroutines,
  kSimdLoop,        // many lanes at once, called as a thread loop
  kSimdCoroutines,  // a coroutine a simdgroup
};

constexpr std::string_view name_of(Route route) {
  switch (route) {
    case Route::kThreadLoop:
      return "thread loop";
    case Route::kCoroutines:
      return "coroutines";
    case Route::kSimdLoop:
      return "simd loop";
    case Route::kSimdCoroutines:
      return "simd coroutines";
  }
  return "";
}

constexpr bool is_simd(Route route) { return route == Route::kSimdLoop || route == Route::kSimdCoroutines; }
constexpr bool is_of_coroutines(Route route) { return route == Route::kCoroutines || route == Route::kSimdCoroutines; }

}  // namespace anymps::metal::abi
