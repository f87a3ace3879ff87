#include "metal/tool/tool.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/support/files_ahead.h"
#include "metal/air/module.h"
#include "metal/library/metallib.h"
#include "metal/select/confined_engine.h"
#include "metal/support/json_text.h"
#include "metal/tool/check.h"
#include "metal/tool/list.h"
#include "metal/tool/lower.h"
#include "metal/tool/open_library.h"
#include "metal/tool/replay.h"
#include "metal/tool/request_error.h"
#include "metal/tool/run.h"
#include "metal/tool/verify.h"

namespace anymps::metal::tool {
namespace {

using Words = std::vector<std::string>;

constexpr int kRefused = 2;
constexpr int kDoesNotCompile = 4;

struct Request {
  SourceOptions source;
  Words words;  // the verb, the file, and what the verb needs
};

// From here on this process reads no file but those that are open, and computes. Whoever has a kernel without seccomp,
// or looks for a fault with other tools, can do without.
void confine() {
  const char* variable = std::getenv("ANYMPS_SANDBOX");
  if (variable != nullptr && std::string_view(variable) == "0") return;
  try {
    select::confine_engine();
  } catch (const std::runtime_error& error) {
    throw RequestError(std::string(error.what()) + "; ANYMPS_SANDBOX=0 runs without a sandbox, with your rights");
  }
}

// The library, read by a process that is confined, unless a source includes files: then its compiler finds them first.
OpenedLibrary open_confined(const Request& request, std::span<const std::string> kernels = {}) {
  const std::string& file = request.words[1];
  gpu::support::open_ahead(file);
  if (reads_other_files(file, request.source)) {
    OpenedLibrary opened = open_library(file, request.source, kernels);
    confine();
    return opened;
  }
  confine();
  return open_library(file, request.source, kernels);
}

std::string list(const Request& request) {
  const Words& words = request.words;
  const auto names = std::span(words).subspan(2);
  const library::Metallib library = open_confined(request, names).library;
  std::vector<const library::FunctionEntry*> chosen;
  for (const std::string& name : names) chosen.push_back(&find_function(library, words[1], name));
  if (chosen.empty()) {
    for (const library::FunctionEntry& function : library.functions()) chosen.push_back(&function);
  }
  return list_as_json(chosen);
}

std::string disassemble(const Request& request) {
  const Words& words = request.words;
  const library::Metallib library = open_confined(request, std::span(words).subspan(2, 1)).library;
  const library::FunctionEntry& function = find_function(library, words[1], words[2]);
  llvm::LLVMContext context;
  const auto module = air::parse_module(context, function.bitcode, function.name);  // also what is refused elsewhere
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, nullptr);
  return text;
}

std::string lower(const Request& request) {
  const Words& words = request.words;
  const library::Metallib library = open_confined(request, std::span(words).subspan(2, 1)).library;
  return lowered_text(find_function(library, words[1], words[2]), std::span(words).subspan(3));
}

std::string verify(const Request& request) {
  const Words& words = request.words;
  const library::Metallib library = open_confined(request).library;
  const std::span<const library::FunctionEntry> all = library.functions();
  const std::size_t step = std::max<std::size_t>(1, std::stoull(words[4]));
  std::vector<library::FunctionEntry> chosen;
  for (std::size_t i = std::stoull(words[2]); i < all.size() && chosen.size() < std::stoull(words[3]); i += step) {
    chosen.push_back(all[i]);
  }
  return verify_as_json(chosen, static_cast<unsigned>(std::stoul(words[5])), words.size() > 6 && words[6] == "simd");
}

std::string run(const Request& request) {
  const Words& words = request.words;
  const auto options = std::span(words).subspan(3);
  open_inputs_ahead(options);
  const library::Metallib library = open_confined(request, std::span(words).subspan(2, 1)).library;
  RunAnswer answer = run_as_json(find_function(library, words[1], words[2]), options);
  return std::move(answer.json) + '\0' + answer.files;
}

std::string check(const Request& request) {
  const Words& words = request.words;
  const library::Metallib library = open_confined(request).library;
  const std::span<const library::FunctionEntry> all = library.functions();
  const std::size_t first = std::min<std::size_t>(std::stoull(words[2]), all.size());
  return check_as_json(all.subspan(first, std::min<std::size_t>(std::stoull(words[3]), all.size() - first)));
}

std::string compile(const Request& request) {
  const OpenedLibrary opened = open_confined(request);
  const std::span<const std::byte> bytes = opened.library.bytes();
  llvm::json::Array kernels;
  for (const library::FunctionEntry& function : opened.library.functions()) {
    kernels.push_back(llvm::json::fixUTF8(function.name));
  }
  llvm::json::Object answer{{"kernels", std::move(kernels)},
                            {"bytes", static_cast<std::int64_t>(bytes.size())},
                            {"warnings", llvm::json::fixUTF8(opened.warnings)}};
  std::string text = support::json_text(std::move(answer)) + '\0';
  return text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::string capture(const Request& request) {
  for (const std::string& file : files_of_capture(request.words[1])) gpu::support::open_ahead(file);
  confine();
  return capture_as_json(request.words[1]);
}

std::string replay(const Request& request) {
  ReplayOptions options;
  std::vector<std::size_t> numbers;
  for (const std::string& word : std::span(request.words).subspan(2)) {
    if (word == "validate") {
      options.validate = true;
    } else if (word == "source") {
      options.from_source = true;
    } else if (word.starts_with("tolerance=")) {
      options.tolerance = std::stod(word.substr(word.find('=') + 1));
    } else {
      numbers.push_back(std::stoull(word));
    }
  }
  return replay_as_json(request.words[1], numbers, options, confine);
}

struct Verb {
  std::string_view name;
  std::size_t fewest_words;  // the verb's own name among them
  std::size_t most_words;
  std::string (*answer)(const Request& request);
};

constexpr std::array kVerbs = {
    Verb{"list", 2, static_cast<std::size_t>(-1), list},
    Verb{"disasm", 3, 3, disassemble},
    Verb{"lower", 3, static_cast<std::size_t>(-1), lower},
    Verb{"verify", 6, 7, verify},
    Verb{"check", 4, 4, check},
    Verb{"compile", 2, 2, compile},
    Verb{"run", 3, static_cast<std::size_t>(-1), run},
    Verb{"capture", 2, 2, capture},
    Verb{"replay", 3, static_cast<std::size_t>(-1), replay},
};

// Words between the verb and the file that begin with a dash are the compiler's.
Request request_of(const Words& words) {
  Request request;
  for (const std::string& word : words) {
    if (request.words.size() != 1 || !word.starts_with('-')) {
      request.words.push_back(word);
    } else if (word.starts_with("-I")) {
      request.source.folders.push_back(word.substr(2));
    } else if (word.starts_with("-D")) {
      const std::size_t equals = word.find('=');
      request.source.defines.emplace_back(word.substr(2, equals - 2),
                                          equals == std::string::npos ? "1" : word.substr(equals + 1));
    } else if (word == "-ffast-math") {
      request.source.fast_math = true;
    } else {
      throw RequestError("the compiler has no option " + word);
    }
  }
  return request;
}

std::string answer(const Words& words) {
  const Request request = request_of(words);
  for (const Verb& verb : kVerbs) {
    if (request.words.empty() || request.words[0] != verb.name) continue;
    if (request.words.size() < verb.fewest_words || request.words.size() > verb.most_words) break;
    return verb.answer(request);
  }
  throw std::invalid_argument("libanymps_metal.so does not know this request");
}

}  // namespace
}  // namespace anymps::metal::tool

int anymps_metal_tool(std::size_t count, const char* const* words, AnympsMetalSink sink, void* state) {
  std::string text;
  int status = 0;
  try {
    text = anymps::metal::tool::answer({words, words + count});
  } catch (const std::bad_alloc&) {
    text = "more memory is asked for than reading a library may take";
    status = anymps::metal::tool::kRefused;
  } catch (const anymps::metal::frontend::CompileError& error) {
    text = error.what();
    status = anymps::metal::tool::kDoesNotCompile;
  } catch (const std::exception& error) {
    text = error.what();
    status = anymps::metal::tool::kRefused;
  }
  sink(state, text.data(), text.size());
  return status;
}
