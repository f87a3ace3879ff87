// Launches one kernel once, with what a command line says of its arguments.
#pragma once

#include <span>
#include <string>

#include "metal/library/metallib.h"

namespace anymps::metal::tool {

// Each option is a text "KEY=VALUE":
//   threads=X,Y,Z   group=X,Y,Z
//   arg=TEXT               the next buffer, in the order of bindings; buffer_text.h has the form, or "none"
//   threadgroup=INDEX=BYTES
//   constant=ID=VALUE      or its name
//   out=INDEX              all of its values in the answer
//   out=INDEX=FILE         or in a file, .npy or bytes, which the caller writes
//   seed=N   repeat=N   validate=1
// docs/cli.md names the fields of the answer; "file_bytes" says how much of `files` is a buffer's. Throws RequestError,
// AirError or pipeline::KernelError.
struct RunAnswer {
  std::string json;
  std::string files;  // one after the other
};
RunAnswer run_as_json(const library::FunctionEntry& function, std::span<const std::string> options);

// Opens the files that the options name, for a process that will be confined (gpu/support/files_ahead.h).
void open_inputs_ahead(std::span<const std::string> options);

}  // namespace anymps::metal::tool
