// The target that Metal is compiled for: AIR's data layout and address spaces, an ABI without surprises, and no CPU.
#pragma once

namespace clang {
class CompilerInstance;
}

namespace anymps::metal::frontend::emit {

inline constexpr char kTriple[] = "air64-apple-macosx15.0.0";

// `version` as __METAL_VERSION__ has it: 320 is Metal 3.2. Instead of clang::CompilerInstance::createTarget(), which
// knows the targets of Clang alone.
void set_air_target(clang::CompilerInstance& compiler, unsigned version, bool fast_math);

}  // namespace anymps::metal::frontend::emit
