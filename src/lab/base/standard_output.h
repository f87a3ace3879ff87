// The end of what a program prints.
#pragma once

namespace anymps::lab::base {

// Whether something did not arrive. What throws because of it need not be told: status_after_output() does.
bool output_failed();

// Brings all that was printed to where standard output leads. Where it does not arrive, as on a full disk, says so on
// standard error and gives a status of failure instead of success.
int status_after_output(int status);

}  // namespace anymps::lab::base
