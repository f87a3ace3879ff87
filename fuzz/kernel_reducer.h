// Makes a program smaller as long as something about it stays.
#pragma once

#include <functional>

#include "kernel_program.h"

namespace anymps::fuzz {

using StillThere = std::function<bool(const KernelProgram& program)>;

// Takes away statements, puts blocks in the place of what they belong to, numbers in that of expressions, and smaller
// launches, until nothing more can go or `seconds` have passed.
KernelProgram reduced(KernelProgram program, const StillThere& still_there, double seconds);

}  // namespace anymps::fuzz
