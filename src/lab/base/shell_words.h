// Words as a shell reads them back: what `split_words` of lab/host/python.h takes apart, put together.
#pragma once

#include <string>
#include <vector>

namespace anymps::lab::base {

std::string shell_quoted(const std::string& word);
std::string shell_quoted(const std::vector<std::string>& words);

}  // namespace anymps::lab::base
