// The entry point of libanymps_metal.so for programs that do not link LLVM: `anymps metal` opens the library in a child
// process and asks here. An answer crosses as text, so that the two sides share no C++ types.
#pragma once

#include <cstddef>

extern "C" {

using AnympsMetalSink = void (*)(void* state, const char* text, std::size_t size);

// Words, as of the command line:
//   list FILE [KERNEL...]   all functions of a library or those named, as JSON (docs/cli.md)
//   disasm FILE KERNEL      the LLVM IR of one function
//   lower FILE KERNEL [OPTION...]
//                           what the passes of lowering do to it (lower.h), as LLVM IR
//   verify FILE FIRST COUNT STEP JOBS [simd]
//                           compiles every STEPth function from the FIRST on, COUNT of them at most, on JOBS threads
//   check FILE FIRST COUNT  what is wrong with COUNT functions from the FIRST on (check.h)
//   compile FILE            compiles Metal source into a library: as JSON, which kernels, how many bytes, and the
//                           compiler's warnings; then a zero byte and the library
//   run FILE KERNEL [KEY=VALUE...]
//                           launches one kernel (run.h), and gives what it wrote as JSON; then a zero byte and the
//                           files that are asked for, one after the other
//   capture FOLDER          what a capture holds (replay.h), as JSON
//   replay FOLDER [validate] [source] [tolerance=T] NUMBER...
//                           runs those of its launches again
// A FILE that ends in .metal is source, which is compiled; between the verb and the file may stand -IFOLDER,
// -DNAME=VALUE and -ffast-math, for its compiler. Every verb confines the process (gpu/support/confine.h) as soon as it
// has opened what it reads, and writes no file: a process asks once. Returns 0 and hands the answer to the sink, in any
// number of pieces; or 2, and what was handed over is one line that says what was refused and why; or 4, and it is what
// the compiler said. Throws nothing; hostile bitcode may end the process.
__attribute__((visibility("default"))) int anymps_metal_tool(std::size_t count, const char* const* words,
                                                             AnympsMetalSink sink, void* state);
}
