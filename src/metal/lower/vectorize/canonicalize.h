// Gives a thread's code the form that the passes behind this one expect.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "metal/lower/vectorize/divergence_analysis.h"

namespace anymps::metal::lower::support {
class PassRunner;
}

namespace anymps::metal::lower::vectorize {

// One way out, branches of two ways, loops with one entry and one latch, and a phi for what leaves a loop.
// `unroll` loops, which makes registers of the arrays that they go through; else only those of a few instructions.
void prepare(llvm::Function& function, support::PassRunner& runner, bool unroll);

// Whether all lanes find `condition` true, or false where they do not or that is not easily said.
llvm::Value* ask_lanes(llvm::IRBuilder<>& b, llvm::Value* condition);

// Splits loops that lanes leave apart, but most of whose iterations they all run. Afterwards simplify_form() and new
// Divergence are due. False where there are none.
bool split_uniform_iterations(const Thread& thread, const Divergence& divergence);
// The same for sides of branches by a thread's position. The code grows by `most` instructions at most.
bool specialize_uniform_branches(const Thread& thread, const Divergence& divergence, std::size_t most);
// The last part of prepare().
void simplify_form(llvm::Function& function, support::PassRunner& runner);

// A thread's own arrays become arrays of all lanes: element by element where every access is to one kind of element, so
// that what lanes access together lies together; lane by lane otherwise.
void privatize_allocas(const Thread& thread);

}  // namespace anymps::metal::lower::vectorize
