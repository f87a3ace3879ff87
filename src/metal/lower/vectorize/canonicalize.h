// Gives a thread's code the form that the passes behind this one expect.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "metal/lower/simd_facts.h"

namespace anymps::metal::lower {
class Optimiser;
}

namespace anymps::metal::lower::simd {

// One way out, branches of two ways, loops with one entry and one latch, and a phi for what leaves a loop.
// `unroll` loops, which makes registers of the arrays that they go through; else only those of a few instructions.
void prepare(llvm::Function& function, Optimiser& optimiser, bool unroll);

// Whether all lanes find `condition` true, or false where they do not or that is not easily said.
llvm::Value* ask_lanes(llvm::IRBuilder<>& b, llvm::Value* condition);

// Splits loops that lanes leave apart, but most of whose rounds they all run. Afterwards put_in_form() and new Facts
// are due. False where there are none.
bool share_rounds(const Thread& thread, const Facts& facts);
// The same for sides of branches by a thread's position. The code grows by `most` instructions at most.
bool share_sides(const Thread& thread, const Facts& facts, std::size_t most);
// The last part of prepare().
void put_in_form(llvm::Function& function, Optimiser& optimiser);

// A thread's own arrays become arrays of all lanes: element by element where every access is to one kind of element, so
// that what lanes access together lies together; lane by lane otherwise.
void spread_variables(const Thread& thread);

}  // namespace anymps::metal::lower::simd
