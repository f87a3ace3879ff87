// Launches one kernel once, with what a command line says of its arguments.
#pragma once

#include <span>
#include <string>

#include "metal/library/metallib.h"

namespace anymps::metal {

// Each option is a text "KEY=VALUE":
//   threads=X,Y,Z   group=X,Y,Z
//   arg=TEXT               the next buffer, in the order of bindings; buffer_text.h has the form, or "none"
//   threadgroup=INDEX=BYTES
//   constant=ID=VALUE      or its name
//   out=INDEX              all of its values in the answer
//   out=INDEX=FILE         or in a file, .npy or bytes
//   seed=N   repeat=N   validate=1
// The answer is JSON; docs/cli.md names the fields. Throws RequestError, AirError or engine::KernelError.
std::string run_as_json(const FunctionEntry& function, std::span<const std::string> options);

}  // namespace anymps::metal
