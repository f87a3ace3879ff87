// Where in the user's program the current operator was called.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace anymps::backend::runtime {

// "file.py:12", or an empty string where nobody can tell (a C++ program). Costs microseconds: only for events that are
// rare or traced.
std::string call_site();

// The lines of the user's that lead there, innermost first, at most so many.
std::vector<std::string> call_sites(std::size_t most);

// While it lives, this thread runs what was called at that line before, or at a line that nobody knows if it is empty.
class CallSiteScope {
 public:
  explicit CallSiteScope(const std::string& site) noexcept;
  ~CallSiteScope();
  CallSiteScope(const CallSiteScope&) = delete;
  CallSiteScope& operator=(const CallSiteScope&) = delete;

 private:
  const std::string* const before_;
};

// PyTorch's thread for gradients runs no Python: what is called there is called by the line that this names, until it
// names another.
void remember_backward_site();

// The Python module puts its own finder here; C++ programs go without.
using CallSiteFinder = std::vector<std::string> (*)(std::size_t most);
void set_call_site_finder(CallSiteFinder finder);

}  // namespace anymps::backend::runtime
