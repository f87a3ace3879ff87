// Where in the user's program the current operator was called.
#pragma once

#include <string>

namespace anymps::backend {

// "file.py:12", or an empty string where nobody can tell (a C++ program). Costs microseconds: only for events that are
// rare or traced.
std::string call_site();

// The Python module puts its own finder here; C++ programs go without.
using CallSiteFinder = std::string (*)();
void set_call_site_finder(CallSiteFinder finder);

}  // namespace anymps::backend
