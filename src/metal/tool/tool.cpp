#include "metal/tool/tool.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <array>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "metal/air/module.h"
#include "metal/library/metallib.h"
#include "metal/tool/check.h"
#include "metal/tool/list.h"
#include "metal/tool/open_library.h"
#include "metal/tool/run.h"
#include "metal/tool/verify.h"

namespace anymps::metal {
namespace {

using Words = std::vector<std::string>;

constexpr int kRefused = 2;

std::string list(const Words& words) {
  const Metallib library = open_library(words[1]);
  std::vector<const FunctionEntry*> chosen;
  for (std::size_t i = 2; i < words.size(); ++i) chosen.push_back(&find_function(library, words[1], words[i]));
  if (chosen.empty()) {
    for (const FunctionEntry& function : library.functions()) chosen.push_back(&function);
  }
  return list_as_json(chosen);
}

std::string disassemble(const Words& words) {
  const Metallib library = open_library(words[1]);
  const FunctionEntry& function = find_function(library, words[1], words[2]);
  llvm::LLVMContext context;
  const auto module = read_module(context, function.bitcode, function.name);
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, nullptr);
  return text;
}

std::string verify(const Words& words) {
  const Metallib library = open_library(words[1]);
  const std::span<const FunctionEntry> all = library.functions();
  const std::size_t step = std::max<std::size_t>(1, std::stoull(words[4]));
  std::vector<FunctionEntry> chosen;
  for (std::size_t i = std::stoull(words[2]); i < all.size() && chosen.size() < std::stoull(words[3]); i += step) {
    chosen.push_back(all[i]);
  }
  return verify_as_json(chosen, static_cast<unsigned>(std::stoul(words[5])));
}

std::string run(const Words& words) {
  const Metallib library = open_library(words[1]);
  return run_as_json(find_function(library, words[1], words[2]), std::span(words).subspan(3));
}

std::string check(const Words& words) {
  const Metallib library = open_library(words[1]);
  const std::span<const FunctionEntry> all = library.functions();
  const std::size_t first = std::min<std::size_t>(std::stoull(words[2]), all.size());
  return check_as_json(all.subspan(first, std::min<std::size_t>(std::stoull(words[3]), all.size() - first)));
}

struct Verb {
  std::string_view name;
  std::size_t fewest_words;  // the verb's own name among them
  std::size_t most_words;
  std::string (*answer)(const Words& words);
};

constexpr std::array kVerbs = {
    Verb{"list", 2, static_cast<std::size_t>(-1), list},
    Verb{"disasm", 3, 3, disassemble},
    Verb{"verify", 6, 6, verify},
    Verb{"check", 4, 4, check},
    Verb{"run", 3, static_cast<std::size_t>(-1), run},
};

std::string answer(const Words& words) {
  for (const Verb& verb : kVerbs) {
    if (words.empty() || words[0] != verb.name) continue;
    if (words.size() < verb.fewest_words || words.size() > verb.most_words) break;
    return verb.answer(words);
  }
  throw std::invalid_argument("libanymps_metal.so does not know this request");
}

}  // namespace
}  // namespace anymps::metal

int anymps_metal_tool(std::size_t count, const char* const* words, AnympsMetalSink sink, void* state) {
  std::string text;
  int status = 0;
  try {
    text = anymps::metal::answer({words, words + count});
  } catch (const std::bad_alloc&) {
    text = "more memory is asked for than reading a library may take";
    status = anymps::metal::kRefused;
  } catch (const std::exception& error) {
    text = error.what();
    status = anymps::metal::kRefused;
  }
  sink(state, text.data(), text.size());
  return status;
}
