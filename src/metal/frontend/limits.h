// How much a program may ask of the compiler.
#pragma once

#include <cstddef>

namespace clang {
class Sema;
}

namespace anymps::metal::frontend {

inline constexpr std::size_t kMostSourceBytes = std::size_t{32} << 20;
inline constexpr std::size_t kMostTokens = std::size_t{16} << 20;
inline constexpr std::size_t kMostTreeBytes = std::size_t{3} << 30;
inline constexpr double kMostSeconds = 300;

// While templates are instantiated, which is where a few lines can ask for everything: beyond the limits a fatal error
// ends it.
void watch_limits(clang::Sema& sema);

// The same between declarations.
void check_limits(clang::Sema& sema);

}  // namespace anymps::metal::frontend
