// How much a program may ask of the compiler. It runs in the process of whoever calls it, so beyond a limit there is an
// error message, and no crash.
#pragma once

#include <cstddef>

namespace anymps::metal::frontend::support {

inline constexpr std::size_t kMostSourceBytes = std::size_t{16} << 20;
// Of an #if, which the preprocessor recurses over.
inline constexpr std::size_t kMostConditionTokens = 10000;
// Once macros are expanded; of one macro's expansion, too.
inline constexpr std::size_t kMostTokens = std::size_t{8} << 20;
inline constexpr std::size_t kMostFiles = 10000;  // that are entered by #include
// Of an expression or a declarator, whose parts may all be nested, and of `else`s in one block.
inline constexpr std::size_t kMostNested = 10000;
inline constexpr std::size_t kMostTreeBytes = std::size_t{1} << 30;
// Of the processor.
inline constexpr double kMostSeconds = 20;
// Of a kernel, once all that it calls is inlined.
inline constexpr std::size_t kMostInstructions = std::size_t{1} << 20;
// Of a class, those of its members and bases among them.
inline constexpr std::size_t kMostMembers = 10000;
// Of one variable: in threadgroup memory (of which a kernel that is launched has far less), in a thread's memory, in
// constant memory.
inline constexpr std::size_t kMostThreadgroupBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMostThreadBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMostConstantBytes = std::size_t{64} << 20;

// That this thread has used since it began.
double seconds_used();

}  // namespace anymps::metal::frontend::support
