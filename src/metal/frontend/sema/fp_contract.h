// Sums of products of vectors within one expression, which Clang contracts only where they are its own vectors.
#pragma once

namespace clang {
class CodeGenerator;
}

namespace anymps::metal::frontend::sema {

// In the module that the generator made, before anything optimises it: `a * b + c` of metal::vec<float, N> and the like
// becomes `llvm.fmuladd` of the elements, by the rule that Clang has for numbers (-ffp-contract=on), as in Apple's AIR.
void contract_vectors(clang::CodeGenerator& generator);

}  // namespace anymps::metal::frontend::sema
