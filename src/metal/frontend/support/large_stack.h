// A stack for what recurses over programs: Clang's parser, and LLVM's passes.
#pragma once

#include <functional>

namespace anymps::metal::frontend::support {

// Runs it on a thread of its own, whose clock of used time begins at zero, and waits. Throws what it throws.
void on_large_stack(const std::function<void()>& work);

}  // namespace anymps::metal::frontend::support
