#include "lab/base/standard_output.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>

#include "lab/base/log_line.h"

namespace anymps::lab::base {

bool output_failed() { return std::ferror(stdout) != 0 || !std::cout; }

int status_after_output(int status) {
  errno = 0;
  std::cout.flush();
  const bool arrived = std::fflush(stdout) == 0 && !output_failed();
  if (arrived) return status;
  // A stream that failed earlier does not say why; another byte does, behind what is cut short already.
  if (errno == 0) (void)!::write(STDOUT_FILENO, "\n", 1);
  const int why = errno;
  say_error(std::string("cannot write to standard output: ") + (why != 0 ? std::strerror(why) : "it was cut short"));
  return status != 0 ? status : 1;
}

}  // namespace anymps::lab::base
